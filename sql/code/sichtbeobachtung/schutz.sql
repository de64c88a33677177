-- Protection: the one masking rule, and how far each record is protected.

-- THE masking rule (D4): whether this reader sees the cell's centre instead of the true point. Everything that shows,
-- filters or exports a place goes through it. Scalars instead of the row, so that it is inlined into where-clauses.
--   schutz     of the record: 2 protected under every domain, 1 only where the addressed tenant protects the species
--   sensibel_here  the addressed tenant protects the species (null counts as no)
--   nutzer_id  recorder
--   reader     who asks, null for anonymous
--   exempt     the reader is in charge of the record (private.is_zustaendig)
-- returns      true: only the cell may be seen
create or replace function private.is_masked(schutz smallint, sensibel_here boolean, nutzer_id bigint, reader bigint, exempt boolean)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select (schutz = 2 or (schutz = 1 and coalesce(sensibel_here, false))) and nutzer_id is distinct from reader and not exempt
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
create or replace function private.is_shown_to_all(bereich portal.bereich, status portal.status)
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
    return query select false, private.to_eigener_schutz(get_schutz.sensibel);
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

-- How a record of a species that is sensitive nowhere is protected: by its recorder or not at all.
create or replace function private.to_eigener_schutz(sensibel boolean)
  returns smallint
  language sql
  immutable
  parallel safe
as $$
  select case when sensibel then 2 else 0 end::smallint
$$;

-- The place that is kept to be shown: the centre of the cell where everybody is shown that, else the true one, which single tenants may mask.
create or replace function private.to_shown_point(schutz smallint, point public.geometry, raster_point public.geometry)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select case when schutz = 2 then raster_point else point end
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
  insert into portal.pruefgrund_offen (sichtbeobachtung_id)
  select p.sichtbeobachtung_id from portal.pruefgrund p where p.sichtbeobachtung_id = any (v_moved);
  perform private.set_abgleich(array(
    select s.id from portal.sichtbeobachtung s where s.id = any (v_moved) and private.is_shown_to_all(s.bereich, s.status)));
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
