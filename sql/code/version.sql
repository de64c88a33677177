-- The versions of what anonymous readers may see, and of the change log (D2.21, O1.6). Cheap to ask for, because they say "unchanged"
-- for most requests of a portal; never derived from a place.

-- Counts a change. A transaction takes the first row that no other open transaction holds, so that nobody waits. Whatever order they
-- commit in, and whatever order a replica shows them in: which of them a reader sees is told by the rows together, and by nothing less.
-- Neither a sum nor a highest number would do: of two that are under way at once, one server may show the one first and another the other.
-- What changes what anonymous readers see may hide something. Its commit is acknowledged when the servers in synchronous_standby_names
-- show it too, so that none of them shows afterwards what was hidden; without such servers that changes nothing.
--   shown      changes of what anonymous readers see
--   protokoll  entries of the change log
create or replace function private.count_version(shown integer, protokoll integer)
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
