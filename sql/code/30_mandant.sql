-- Tenants: which ones a point lies in, which ones a cell touches, and the tables that answer it fast.

-- The catalogue lock. Whether a record is protected is read from the species' definitions and the tenants' cells; a
-- writer that read "not sensitive" while somebody else commits "sensitive" would leave an exact place public for ever.
-- So every write of a sighting holds this lock shared, every change of what the decision is read from holds it alone.
-- An advisory lock, because `for share` on the species would write a row version for every sighting of a common species.
--   exclusive  true for a change of the catalogue or the boundaries
-- errors       RLSCH when the transaction works on an old snapshot (repeatable read, serializable), where waiting
--              for the lock would not show what was committed meanwhile
create or replace function private.require_catalogue_lock(exclusive boolean)
  returns void
  language plpgsql
  volatile
as $$
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'sightings, catalogue and boundaries are written at isolation level read committed only'
      using errcode = 'RLSCH';
  end if;
  if exclusive then
    perform pg_catalog.pg_advisory_xact_lock(25832, 1);
  else
    perform pg_catalog.pg_advisory_xact_lock_shared(25832, 1);
  end if;
end
$$;

-- The tenants whose boundary contains a point, its edge included; a point on a border is in both.
--   point   EPSG:25832
-- returns   ids of tenants, none outside of all
create or replace function private.list_mandant_of_point(point public.geometry)
  returns setof integer
  language sql
  stable
  parallel safe
  rows 1
as $$
  select z.mandant_id
  from portal.mandant_zelle z
  where z.cell_x = private.to_cell(public.st_x(point))
    and z.cell_y = private.to_cell(public.st_y(point))
    and (z.ganz or exists (
      select from portal.mandant_teil t
      where t.mandant_id = z.mandant_id and public.st_intersects(t.teil, point)))
$$;

-- Computes the parts and cells of a tenant anew from its boundary.
--   mandant_id  the tenant
create or replace function private.set_mandant_zelle(mandant_id integer)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_boundary public.geometry := (select m.boundary from portal.mandant m where m.id = set_mandant_zelle.mandant_id);
begin
  delete from portal.mandant_teil t where t.mandant_id = set_mandant_zelle.mandant_id;
  delete from portal.mandant_zelle z where z.mandant_id = set_mandant_zelle.mandant_id;

  -- 128 vertices a part: small enough to test fast, large enough to keep the parts of a state in the hundreds.
  insert into portal.mandant_teil (mandant_id, teil)
  select set_mandant_zelle.mandant_id, d.geom
  from public.st_subdivide(v_boundary, 128) s (geom),
    public.st_dump(s.geom) d
  where public.st_dimension(d.geom) = 2;

  insert into portal.mandant_zelle (cell_x, cell_y, mandant_id, ganz)
  with candidate as (
    -- the cells in each part's own box, not in the box of the whole state
    select distinct x.i as cell_x, y.i as cell_y
    from portal.mandant_teil t,
      generate_series(private.to_cell(public.st_xmin(t.teil)) - 1, private.to_cell(public.st_xmax(t.teil)) + 1) x (i),
      generate_series(private.to_cell(public.st_ymin(t.teil)) - 1, private.to_cell(public.st_ymax(t.teil)) + 1) y (i)
    where t.mandant_id = set_mandant_zelle.mandant_id
      and public.st_intersects(t.teil, private.to_cell_polygon(x.i, y.i))
  ),
  line as materialized (
    select public.st_subdivide(public.st_boundary(v_boundary), 128) as geom
  ),
  crossed as (
    select distinct c.cell_x, c.cell_y
    from candidate c
    join line l on public.st_intersects(l.geom, private.to_cell_polygon(c.cell_x, c.cell_y))
  )
  select c.cell_x, c.cell_y, set_mandant_zelle.mandant_id, k.cell_x is null
  from candidate c
  left join crossed k using (cell_x, cell_y);
end
$$;

-- Keeps domains, parts and cells of tenants, and the tenants and protection of the sightings concerned. For all tenants of
-- a statement at once: between two of them the cells of the other would still be the old ones.
--   mandant_id  tenants that were created or changed
--   moved       those of them whose boundary is new
create or replace function private.set_mandant_derived(mandant_id integer[], moved integer[])
  returns void
  language plpgsql
  volatile
as $$
declare
  v_id bigint[];
  v_mandant_id integer;
begin
  delete from portal.mandant_domain d where d.mandant_id = any (set_mandant_derived.mandant_id);
  insert into portal.mandant_domain (domain, mandant_id, position)
  select pg_catalog.lower(u.domain), m.id, u.position
  from portal.mandant m, pg_catalog.unnest(m.domains) with ordinality u (domain, position)
  where m.id = any (set_mandant_derived.mandant_id);

  if pg_catalog.cardinality(moved) = 0 then
    return;
  end if;
  v_id := private.list_sichtbeobachtung_of_mandant(moved);
  foreach v_mandant_id in array moved loop
    perform private.set_mandant_zelle(v_mandant_id);
  end loop;
  perform private.set_sichtbeobachtung_schutz(array(
    select pg_catalog.unnest(v_id) union select pg_catalog.unnest(private.list_sichtbeobachtung_of_mandant(moved))));
end
$$;

-- The records in the cells that tenants touch.
create or replace function private.list_sichtbeobachtung_of_mandant(mandant_id integer[])
  returns bigint[]
  language sql
  stable
as $$
  select array(
    select distinct s.id
    from portal.mandant_zelle z
    join portal.sichtbeobachtung s using (cell_x, cell_y)
    where z.mandant_id = any (list_sichtbeobachtung_of_mandant.mandant_id))
$$;

create or replace function private.mandant_after_insert()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_id integer[] := array(select n.id from new_row n);
begin
  perform private.set_mandant_derived(v_id, v_id);
  return null;
end
$$;

create or replace function private.mandant_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.set_mandant_derived(
    array(select n.id from new_row n),
    array(
      select n.id from new_row n join old_row o using (id) where not public.st_orderingequals(n.boundary, o.boundary)));
  return null;
end
$$;

-- A tenant that goes: its definitions and cells end before it, so that its records are re-masked, re-placed and logged once.
create or replace function private.mandant_before_delete()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_linked bigint[] := array(
    select l.sichtbeobachtung_id from portal.sichtbeobachtung_mandant l where l.mandant_id = old.id);
  -- Nobody else logs meanwhile: every writer waits for the catalogue lock.
  v_logged bigint := coalesce((select max(p.id) from portal.protokoll p), 0);
begin
  delete from portal.art_mandant am where am.mandant_id = old.id;
  delete from portal.mandant_zelle z where z.mandant_id = old.id;
  delete from portal.sichtbeobachtung_mandant l where l.mandant_id = old.id;
  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'UPDATE', u.id
  from pg_catalog.unnest(v_linked) u (id)
  where not exists (select from portal.protokoll p where p.id > v_logged and p.sichtbeobachtung_id = u.id)
  order by u.id;
  return old;
end
$$;

create or replace function private.catalogue_before_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.require_catalogue_lock(exclusive => true);
  return null;
end
$$;

create or replace function api.list_mandant()
  returns table (id integer, kuerzel text, name text, domains text[])
  language sql
  stable
as $$
  select m.id, m.kuerzel, m.name, array(
    select d.domain from portal.mandant_domain d where d.mandant_id = m.id order by d.position)
  from portal.mandant m
  order by m.id
$$;
comment on function api.list_mandant() is
  'All tenants with their domains in the order given; a request''s Host selects one of them (D1.15)';

-- Creates a tenant or updates it; its cells, parts and the sightings concerned follow.
--   geojson  Polygon or MultiPolygon, EPSG:4326
-- errors     GRENZ unusable boundary; 23505 a domain or schluessel belongs to another tenant
create or replace function api.set_mandant(kuerzel text, name text, schluessel text, domains text[], geojson text)
  returns integer
  language plpgsql
  volatile
as $$
declare
  v_boundary public.geometry := private.to_boundary(geojson);
  v_id integer;
begin
  update portal.mandant m
  set kuerzel = set_mandant.kuerzel, name = set_mandant.name, schluessel = set_mandant.schluessel, domains = set_mandant.domains,
    boundary = v_boundary
  where lower(m.kuerzel) = lower(set_mandant.kuerzel)
  returning m.id into v_id;
  if not found then
    insert into portal.mandant as m (kuerzel, name, schluessel, domains, boundary)
    values (set_mandant.kuerzel, set_mandant.name, set_mandant.schluessel, set_mandant.domains, v_boundary)
    returning m.id into v_id;
  end if;
  return v_id;
end
$$;
comment on function api.set_mandant(text, text, text, text[], text) is
  'Creates or updates the tenant with this abbreviation; boundary as GeoJSON in EPSG:4326; returns its id';
