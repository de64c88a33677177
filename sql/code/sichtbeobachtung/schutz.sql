-- Sightings: the one masking rule, and what is derived on every write.

-- THE masking rule (D4): whether this reader sees the cell's centre instead of the true point. Everything that shows,
-- filters or exports a place goes through it. Scalars instead of the row, so that it is inlined into where-clauses.
--   schutz     of the record: 2 protected under every domain, 1 only where the addressed tenant protects the species
--   sensibel_here  the addressed tenant protects the species (null counts as no)
--   nutzer_id  recorder
--   reader     who asks, null for anonymous
--   exempt     the reader is administrator or expert
-- returns      true: only the cell may be seen
create or replace function private.is_masked(schutz smallint, sensibel_here boolean, nutzer_id bigint, reader bigint, exempt boolean)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select not exempt and nutzer_id is distinct from reader and (schutz = 2 or (schutz = 1 and coalesce(sensibel_here, false)))
$$;

-- Whether a tenant keeps back what may describe the place of a protected record (D6.5). What that is, private.to_verborgen says; whom it
-- is kept from, private.is_masked.
create or replace function private.is_verborgen(tenant integer)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return exists (select from portal.mandant m where m.id = tenant and m.bemerkung_geschuetzter = 'verbergen');
end
$$;

-- A record without what a tenant may keep back of it. The one list of these columns but for the renderings
-- (sichtbeobachtung/lesen.sql), where a call for each record would cost every page.
create or replace function private.to_verborgen(sichtbeobachtung portal.sichtbeobachtung)
  returns portal.sichtbeobachtung
  language plpgsql
  immutable
as $$
begin
  sichtbeobachtung.bemerkung := null;
  sichtbeobachtung.biotopfoto := null;
  return sichtbeobachtung;
end
$$;

-- Whether everyone is shown a record: public and released. Written out where a partial index has it as its condition.
create or replace function private.is_frei(bereich portal.bereich, status portal.status)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select bereich = 'oeffentlich' and status = 'freigegeben'
$$;

-- How far a record is protected, before anybody asks for it.
--   sensibel   the recorder's own mark
--   art        species
--   cell_x, cell_y  its cell
-- returns      sensible_art: sensitive in a tenant that the cell touches; schutz: see portal.sichtbeobachtung
create or replace function private.get_schutz(sensibel boolean, art integer, cell_x integer, cell_y integer)
  returns table (sensible_art boolean, schutz smallint)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_column
begin
  -- Most species are sensitive nowhere: one look into a small partial index.
  if not exists (select from portal.art_mandant am where am.art = get_schutz.art and am.sensibel) then
    return query select false, case when get_schutz.sensibel then 2 else 0 end::smallint;
    return;
  end if;
  sensible_art := exists (
    select
    from portal.mandant_zelle z
    join portal.art_mandant am on am.mandant_id = z.mandant_id
    where z.cell_x = get_schutz.cell_x and z.cell_y = get_schutz.cell_y and am.art = get_schutz.art and am.sensibel);
  schutz := case when get_schutz.sensibel or sensible_art then 2 else 1 end;
  return next;
end
$$;

create or replace function private.sichtbeobachtung_before_statement()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.require_catalogue_lock(exclusive => false);
  return null;
end
$$;

-- The change log has an entry for every deletion; TRUNCATE tells no trigger which rows it removes.
create or replace function private.sichtbeobachtung_before_truncate()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  raise exception 'sightings are removed with DELETE, so that the change log knows' using errcode = 'LEERN';
end
$$;

-- Derives a record's columns from what was written. For every writer, SQL included; what a writer puts into a derived
-- column is overwritten.
-- errors  DATUM date before 1800 or in the future (Europe/Berlin); GBIET outside the service area; ARTUN no such species
create or replace function private.sichtbeobachtung_before_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
  -- A writer's own setting must not round the coordinates in the stored JSON.
  set extra_float_digits = 1
as $$
declare
  v_installation portal.installation;
  v_x float8 := public.st_x(new.point);
  v_y float8 := public.st_y(new.point);
begin
  select i.* into strict v_installation from portal.installation i;

  if tg_op = 'INSERT' then
    -- One that came with a record of another portal stays.
    new.guid := coalesce(new.guid, public.uuid_generate_v5(v_installation.guid_namespace, new.id::text));
  else
    new.id := old.id;
    new.guid := old.guid;
    -- D3.2: what is published is reviewed anew, unless the writer releases it in the same stroke.
    if old.bereich = 'privat' and new.bereich = 'oeffentlich' and new.status <> 'freigegeben' then
      new.status := 'pruefung';
    end if;
  end if;

  if tg_op = 'INSERT' or new.datum <> old.datum then
    if new.datum < date '1800-01-01' or new.datum > (pg_catalog.now() at time zone 'Europe/Berlin')::date then
      raise exception 'date outside 01.01.1800 to today' using errcode = 'DATUM', column = 'datum';
    end if;
  end if;
  if tg_op = 'INSERT' or not public.st_orderingequals(new.point, old.point) then
    if not coalesce(
      v_x between v_installation.x_min and v_installation.x_max
      and v_y between v_installation.y_min and v_installation.y_max, false) then
      raise exception 'outside the service area' using errcode = 'GBIET', column = 'lat';
    end if;
  end if;

  new.cell_x := private.to_cell(v_x);
  new.cell_y := private.to_cell(v_y);
  new.raster_point := private.to_raster_point(new.cell_x, new.cell_y);
  select a.gid into new.gid from portal.art a where a.id = new.art;
  if new.gid is null then
    raise exception 'no such species' using errcode = 'ARTUN', column = 'art';
  end if;
  -- The first question of get_schutz, asked here too: a call costs 4 of the 14 µs that this trigger took a row.
  perform from portal.art_mandant am where am.art = new.art and am.sensibel limit 1;
  if found then
    select k.sensible_art, k.schutz into strict new.sensible_art, new.schutz
    from private.get_schutz(new.sensibel, new.art, new.cell_x, new.cell_y) k;
  else
    new.sensible_art := false;
    new.schutz := case when new.sensibel then 2 else 0 end;
  end if;
  new.shown_point := case when new.schutz = 2 then new.raster_point else new.point end;
  new.kopf_json := case when private.is_frei(new.bereich, new.status)
    then private.to_kopf_json(new.id, new.guid, new.anzahl, new.point, new.datum) end;
  return new;
end
$$;

-- The tenants that a record's row in the link table must name: those of its point, and when anybody protects it those
-- of its whole cell.
create or replace function private.list_mandant_of_sichtbeobachtung(point public.geometry, cell_x integer, cell_y integer, schutz smallint)
  returns table (mandant_id integer, exakt boolean)
  language sql
  stable
  rows 2
as $$
  select k.mandant_id, k.exakt
  from (
    select z.mandant_id,
      z.ganz or exists (
        select from portal.mandant_teil t
        where t.mandant_id = z.mandant_id and public.st_intersects(t.teil, point)) as exakt
    from portal.mandant_zelle z
    where z.cell_x = list_mandant_of_sichtbeobachtung.cell_x and z.cell_y = list_mandant_of_sichtbeobachtung.cell_y
    -- keeps the planner from testing the point once for the column and once for the condition
    offset 0
  ) k
  where k.exakt or schutz > 0
$$;

create or replace function private.sichtbeobachtung_mandant_after_insert()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.mandant_sichtbeobachtung (mandant_id, sichtbeobachtung_id, gid, exakt, frei)
  select k.mandant_id, n.id, n.gid, k.exakt, private.is_frei(n.bereich, n.status)
  from new_row n, private.list_mandant_of_sichtbeobachtung(n.point, n.cell_x, n.cell_y, n.schutz) k;
  return null;
end
$$;

create or replace function private.sichtbeobachtung_mandant_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_moved bigint[];
  v_frei bigint[];
begin
  select pg_catalog.array_agg(k.id) filter (where k.moved), pg_catalog.array_agg(k.id) filter (where not k.moved) into v_moved, v_frei
  from (
    select n.id, private.is_frei(n.bereich, n.status) <> private.is_frei(o.bereich, o.status) as frei,
      not public.st_orderingequals(n.point, o.point) or n.gid <> o.gid or (n.schutz > 0) <> (o.schutz > 0) as moved
    from new_row n
    join old_row o using (id)
    offset 0
  ) k
  where k.moved or k.frei;
  if v_moved is not null then
    perform private.set_sichtbeobachtung_mandant(v_moved);
  end if;
  if v_frei is not null then
    perform private.set_mandant_frei(v_frei);
  end if;
  return null;
end
$$;

-- Brings in line with records whether everyone is shown them; their tenants are the same as before. To find those out anew took more than
-- twice as long, for every release.
create or replace function private.set_mandant_frei(id bigint[])
  returns void
  language plpgsql
  volatile
as $$
begin
  with written as (
    update portal.mandant_sichtbeobachtung l
    set frei = private.is_frei(s.bereich, s.status)
    from portal.sichtbeobachtung s
    where l.sichtbeobachtung_id = any (set_mandant_frei.id) and s.id = l.sichtbeobachtung_id
      and l.frei <> private.is_frei(s.bereich, s.status)
    returning l.sichtbeobachtung_id, l.mandant_id, l.frei
  )
  -- Their mirrors are told that it is gone.
  insert into portal.abgleich_ehemals (sichtbeobachtung_id, mandant_id)
  select w.sichtbeobachtung_id, w.mandant_id from written w where not w.frei
  on conflict do nothing;
end
$$;

create or replace function private.sichtbeobachtung_mandant_after_delete()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  with removed as (
    delete from portal.mandant_sichtbeobachtung l using old_row o where l.sichtbeobachtung_id = o.id
    returning l.sichtbeobachtung_id, l.mandant_id, l.frei
  )
  insert into portal.abgleich_ehemals (sichtbeobachtung_id, mandant_id)
  select r.sichtbeobachtung_id, r.mandant_id from removed r where r.frei
  on conflict do nothing;
  return null;
end
$$;

-- Brings the tenants of records in line with boundaries, protection and release; touches only what differs.
--   id       records
-- returns    those of them whose tenants changed, as far as anybody is shown them
create or replace function private.set_sichtbeobachtung_mandant(id bigint[])
  returns bigint[]
  language plpgsql
  volatile
as $$
declare
  v_changed bigint[];
begin
  if pg_catalog.cardinality(id) = 0 then
    return '{}';
  end if;
  with wanted as (
    select k.mandant_id, s.id as sichtbeobachtung_id, s.gid, s.schutz, k.exakt, private.is_frei(s.bereich, s.status) as frei
    from portal.sichtbeobachtung s, private.list_mandant_of_sichtbeobachtung(s.point, s.cell_x, s.cell_y, s.schutz) k
    where s.id = any (set_sichtbeobachtung_mandant.id)
  ),
  present as (
    select l.mandant_id, l.sichtbeobachtung_id, l.exakt, l.frei
    from portal.mandant_sichtbeobachtung l
    where l.sichtbeobachtung_id = any (set_sichtbeobachtung_mandant.id)
  ),
  removed as (
    delete from portal.mandant_sichtbeobachtung l
    where l.sichtbeobachtung_id = any (set_sichtbeobachtung_mandant.id)
      and not exists (
        select from wanted w where w.mandant_id = l.mandant_id and w.sichtbeobachtung_id = l.sichtbeobachtung_id)
  ),
  written as (
    insert into portal.mandant_sichtbeobachtung as l (mandant_id, sichtbeobachtung_id, gid, exakt, frei)
    select w.mandant_id, w.sichtbeobachtung_id, w.gid, w.exakt, w.frei from wanted w
    on conflict (sichtbeobachtung_id, mandant_id) do update
      set gid = excluded.gid, exakt = excluded.exakt, frei = excluded.frei
      where (l.gid, l.exakt, l.frei) is distinct from (excluded.gid, excluded.exakt, excluded.frei)
  ),
  -- Their mirrors are told that it is gone.
  ended as (
    insert into portal.abgleich_ehemals (sichtbeobachtung_id, mandant_id)
    select p.sichtbeobachtung_id, p.mandant_id
    from present p
    left join wanted w using (mandant_id, sichtbeobachtung_id)
    where p.frei and w.frei is not true
    on conflict do nothing
  )
  -- On which side of a border a protected record lies is part of its place: `exakt` alone counts for the others only.
  select coalesce(array_agg(distinct sichtbeobachtung_id), '{}') into v_changed
  from present p
  full join wanted w using (mandant_id, sichtbeobachtung_id)
  where p.mandant_id is null or w.mandant_id is null or (p.exakt <> w.exakt and w.schutz < 2);
  return v_changed;
end
$$;

-- Brings protection and tenants of records in line with boundaries, and logs those whose shown place or tenants change
-- (D3.14). Called by trigger functions when a boundary changes.
--   protected  records whose cell other tenants touch now: their protection may change
--   placed     these and all whose point other tenants contain now
create or replace function private.set_sichtbeobachtung_schutz(protected bigint[], placed bigint[])
  returns void
  language plpgsql
  volatile
as $$
declare
  v_updated bigint[];
  v_moved bigint[];
begin
  -- The triggers on the table write links and log for a change of schutz.
  with updated as (
    update portal.sichtbeobachtung s
    set schutz = k.schutz, sensible_art = k.sensible_art
    from portal.sichtbeobachtung t, private.get_schutz(t.sensibel, t.art, t.cell_x, t.cell_y) k
    where t.id = any (protected) and s.id = t.id
      and (s.schutz, s.sensible_art) is distinct from (k.schutz, k.sensible_art)
    returning s.id, t.schutz <> s.schutz as moved
  )
  select coalesce(array_agg(u.id) filter (where u.moved), '{}') into v_updated from updated u;

  v_moved := private.set_sichtbeobachtung_mandant(placed);
  perform private.set_abgleich(array(
    select s.id from portal.sichtbeobachtung s where s.id = any (v_moved) and private.is_frei(s.bereich, s.status)));
  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'UPDATE', m.id
  from (select unnest(v_moved) except select unnest(v_updated)) m (id)
  order by m.id;
end
$$;

-- The same for all records of some species, when the catalogue changes. A record that only other tenants protect keeps
-- its columns when one more of them does, but is shown elsewhere at that tenant: logged too.
--   art  species
create or replace function private.set_schutz_of_art(art integer[])
  returns void
  language plpgsql
  volatile
as $$
declare
  v_updated bigint[];
begin
  with updated as (
    update portal.sichtbeobachtung s
    set schutz = k.schutz, sensible_art = k.sensible_art
    from portal.sichtbeobachtung t, private.get_schutz(t.sensibel, t.art, t.cell_x, t.cell_y) k
    where t.art = any (set_schutz_of_art.art) and s.id = t.id
      and (s.schutz, s.sensible_art) is distinct from (k.schutz, k.sensible_art)
    returning s.id
  )
  select coalesce(array_agg(u.id), '{}') into v_updated from updated u;

  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'UPDATE', s.id
  from portal.sichtbeobachtung s
  where s.art = any (set_schutz_of_art.art) and s.schutz = 1 and s.id <> all (v_updated)
  order by s.id;
end
$$;
