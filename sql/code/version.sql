-- The versions of what anonymous readers may see, and of the change log (D2.21, O1.6). Cheap to ask for, because they say "unchanged"
-- for most requests of a portal; never derived from a place.

-- Counts a change. A transaction takes the first row that no other open transaction holds, so that nobody waits. Whatever order they
-- commit in, and whatever order a replica shows them in: which of them a reader sees is told by the rows together, and by nothing less.
-- Neither a sum nor a highest number would do: of two that are under way at once, one server may show the one first and another the other.
-- What changes what anonymous readers see may hide something. Its commit is acknowledged when the servers in synchronous_standby_names
-- show it too, so that none of them shows afterwards what was hidden; without such servers that changes nothing.
--   shown      changes of what anonymous readers see
--   protokoll  entries of the change log
--   bloecke    where it is shown; null: anywhere
create or replace function private.count_version(shown integer, protokoll integer, bloecke integer[] default null)
  returns void
  language plpgsql
  volatile
as $$
begin
  if shown > 0 then
    perform pg_catalog.set_config('synchronous_commit', 'remote_apply', true);
  end if;
  update portal.stand t
  set anzahl = t.anzahl + shown,
    anzahl_protokoll = t.anzahl_protokoll + protokoll,
    gestartet = case when shown > 0 then pg_catalog.pg_postmaster_start_time() else t.gestartet end,
    gestartet_protokoll = case when protokoll > 0 then pg_catalog.pg_postmaster_start_time() else t.gestartet_protokoll end
  where t.id = (select f.id from portal.stand f order by f.id for update skip locked limit 1);
  if not found then
    insert into portal.stand (id, anzahl, anzahl_protokoll, gestartet, gestartet_protokoll)
    values (
      (pg_catalog.random() * 9007199254740991)::bigint, shown, protokoll, pg_catalog.pg_postmaster_start_time(),
      pg_catalog.pg_postmaster_start_time());
  end if;
  if shown > 0 then
    perform private.count_block(case when pg_catalog.cardinality(bloecke) <= 36 then bloecke else array[private.ueberall()] end);
  end if;
end
$$;

-- The block of a cell: 16 by 16 of them, 80 km, so that what is shown of a place changes with few other places. Of cells alone: a
-- record's true place is in no version.
create or replace function private.to_block(cell_x integer, cell_y integer)
  returns integer
  language sql
  immutable
  parallel safe
as $$
  select (cell_x >> 4) * 65536 + (cell_y >> 4)
$$;

-- In place of a block: what is shown anywhere.
create or replace function private.ueberall()
  returns integer
  language sql
  immutable
  parallel safe
as $$
  select 2147483647
$$;

-- The blocks that a box touches.
--   box    EPSG:25832 (metres)
-- returns  null: more than 36, or there is no box
create or replace function private.list_block(box public.geometry)
  returns integer[]
  language plpgsql
  immutable
as $$
declare
  -- Far beyond every place that can be reported.
  v_most constant float8 := 1e9;
  v_left integer := private.to_cell(greatest(least(public.st_xmin(box), v_most), -v_most)) >> 4;
  v_right integer := private.to_cell(greatest(least(public.st_xmax(box), v_most), -v_most)) >> 4;
  v_bottom integer := private.to_cell(greatest(least(public.st_ymin(box), v_most), -v_most)) >> 4;
  v_top integer := private.to_cell(greatest(least(public.st_ymax(box), v_most), -v_most)) >> 4;
begin
  if box is not null and (v_right - v_left + 1)::bigint * (v_top - v_bottom + 1) <= 36 then
    return array(
      select private.to_block(x.i << 4, y.i << 4)
      from generate_series(v_left, v_right) x (i), generate_series(v_bottom, v_top) y (i));
  end if;
  return null;
end
$$;

-- Counts a change in blocks, as private.count_version counts all.
create or replace function private.count_block(bloecke integer[])
  returns void
  language plpgsql
  volatile
as $$
declare
  v_block integer;
begin
  for v_block in select distinct u.block from pg_catalog.unnest(bloecke) u (block) loop
    update portal.stand_block t
    set anzahl = t.anzahl + 1, gestartet = pg_catalog.pg_postmaster_start_time()
    where t.block = v_block
      and t.id = (select f.id from portal.stand_block f where f.block = v_block order by f.id for update skip locked limit 1);
    if not found then
      insert into portal.stand_block (block, id, anzahl, gestartet)
      values (v_block, (pg_catalog.random() * 9007199254740991)::bigint, 1, pg_catalog.pg_postmaster_start_time());
    end if;
  end loop;
end
$$;

-- Of the catalogue every write counts. Sightings count where private.set_abgleich finds that somebody sees it.
create or replace function private.count_change()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.count_version(shown => 1, protokoll => 0);
  return null;
end
$$;

-- Of the change log entries count, and not statements: one that touches none would tell that an account was erased, and when.
create or replace function private.count_protokoll()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  -- A truncation has no transition table.
  if tg_op = 'TRUNCATE' then
    perform private.count_version(shown => 0, protokoll => 1);
  elsif exists (select from changed) then
    perform private.count_version(shown => 0, protokoll => 1);
  end if;
  return null;
end
$$;

-- After a restore, and on a replica that became the primary, counting goes on from an earlier number and comes to numbers again that
-- stood for something else: they are told apart by the start of the server that counted. As long as nothing was counted since, the
-- version is that of the time of the backup, and so is what is shown. A row of which nothing was counted is no change.
-- Beside what was counted it says the release, and which table it was counted in. The rows' hashes are combined without an order, and
-- no text is made of them: it is asked for with every page that is made.
create or replace function api.get_stand_gezeigt()
  returns text
  language plpgsql
  stable
as $$
begin
  return (
    select concat(
      bit_xor(hash_record_extended(row (t.id, t.anzahl, t.gestartet), 0)),
      '-', (select left(i.code_hash, 8) from portal.installation i), '-', 'portal.stand'::regclass::oid)
    from portal.stand t
    where t.anzahl > 0);
end
$$;
comment on function api.get_stand_gezeigt() is
  'Version of the sightings and the catalogue as anonymous readers may see them; differs after every committed change that one of them sees, and is the same on each server that shows the same';

-- The same of some blocks, and of what is shown anywhere.
--   bloecke  null: there is no such version
create or replace function api.get_stand_gezeigt_in(bloecke integer[])
  returns text
  language plpgsql
  stable
  strict
as $$
begin
  return (
    select concat(
      bit_xor(hash_record_extended(row (t.block, t.id, t.anzahl, t.gestartet), 0)),
      '-', (select left(i.code_hash, 8) from portal.installation i), '-', 'portal.stand_block'::regclass::oid)
    from portal.stand_block t
    where t.block = any (bloecke || private.ueberall()));
end
$$;
comment on function api.get_stand_gezeigt_in(integer[]) is
  'Version of what anonymous readers may see in some blocks; differs after every committed change there, and is the same on each server that shows the same';

-- The blocks in which everything lies that a list can show.
--   filter  as of api.list_sichtbeobachtung
-- returns   null: anywhere
create or replace function api.list_block_of_filter(filter portal.felder)
  returns integer[]
  language plpgsql
  stable
as $$
begin
  if filter ? 'bbox' then
    return private.list_block(public.st_makeenvelope(
      (filter -> 'bbox' ->> 0)::float8, (filter -> 'bbox' ->> 1)::float8, (filter -> 'bbox' ->> 2)::float8, (filter -> 'bbox' ->> 3)::float8,
      25832));
  elsif filter ? 'mandant' then
    return private.list_block((
      -- A record is a tenant's where its cell touches the tenant.
      select public.st_expand(public.st_envelope(m.boundary), 5001)
      from portal.mandant m
      where lower(m.kuerzel) = lower(filter ->> 'mandant')));
  end if;
  return null;
end
$$;
comment on function api.list_block_of_filter(portal.felder) is 'Blocks in which everything lies that a list can show; null: anywhere';

create or replace function api.list_block_of_sichtbeobachtung(id bigint)
  returns integer[]
  language plpgsql
  stable
as $$
begin
  return (
    select array[private.to_block(s.cell_x, s.cell_y)]
    from portal.sichtbeobachtung s
    where s.id = list_block_of_sichtbeobachtung.id);
end
$$;
comment on function api.list_block_of_sichtbeobachtung(bigint) is 'The block of a record, null when there is none';

-- The blocks of a tile that shows records and cells; null for wider ones, which show squares.
create or replace function api.list_block_of_tile(z integer, x integer, y integer)
  returns integer[]
  language plpgsql
  stable
as $$
begin
  if list_block_of_tile.z >= 10 then
    return private.list_block(public.st_expand(ausgabe.to_tile_box(z, x, y, 128.0 / 4096), 5001));
  end if;
  return null;
end
$$;
comment on function api.list_block_of_tile(integer, integer, integer) is
  'Blocks in which everything lies that a tile shows, null for zoom 9 and less';

create or replace function api.get_stand_protokoll()
  returns text
  language plpgsql
  stable
as $$
begin
  return (
    select concat(
      bit_xor(hash_record_extended(row (t.id, t.anzahl_protokoll, t.gestartet_protokoll), 0)),
      '-', (select left(i.code_hash, 8) from portal.installation i), '-', 'portal.stand'::regclass::oid)
    from portal.stand t
    where t.anzahl_protokoll > 0);
end
$$;
comment on function api.get_stand_protokoll() is
  'Version of the change log; differs after every committed entry, and is the same on each server that shows the same';
