-- Rules of experts (O6.2): what is usual of a species, everywhere or at a tenant.

-- The number of a third as rules have it.
-- example  private.to_drittel_of('05-2')  ->  13
create or replace function private.to_drittel_of(drittel text)
  returns integer
  language sql
  immutable
  parallel safe
as $$
  select 3 * (left(drittel, 2)::integer - 1) + right(drittel, 1)::integer - 1
$$;

-- The rules of experts for a species: those of these tenants, or the one for all where none of them has one.
create or replace function private.list_pruefregel(art integer, mandanten integer[])
  returns setof portal.pruefregel
  language sql
  stable
  rows 1
as $$
  select r.*
  from portal.pruefregel r
  where r.art = list_pruefregel.art
    and (r.mandant_id = any (list_pruefregel.mandanten)
      or r.mandant_id is null
        and not exists (
          select from portal.pruefregel m
          where m.art = list_pruefregel.art and m.mandant_id = any (list_pruefregel.mandanten)))
  order by r.mandant_id
$$;

-- What speaks against a region of a rule.
--   gebiet  WKT, EPSG:4326
-- returns   null for nothing; form: no area, kreuzt: its lines cross, ecken: too many corners, lage: outside the service area
create or replace function api.get_gebiet_mangel(gebiet portal.dokument)
  returns text
  language plpgsql
  stable
as $$
declare
  v_gebiet public.geometry;
begin
  begin
    v_gebiet := public.st_geomfromtext(gebiet, 4326);
  exception
    when internal_error or invalid_parameter_value then return 'form';
  end;
  return case
    when public.geometrytype(v_gebiet) not in ('POLYGON', 'MULTIPOLYGON') or public.st_isempty(v_gebiet) then 'form'
    when public.st_npoints(v_gebiet) > 10000 then 'ecken'
    when not public.st_isvalid(v_gebiet) then 'kreuzt'
    when not public.st_intersects(v_gebiet, (
      select ausgabe.to_lonlat(public.st_makeenvelope(i.x_min, i.y_min, i.x_max, i.y_max, 25832)) from portal.installation i)) then 'lage'
  end;
end
$$;
comment on function api.get_gebiet_mangel(portal.dokument) is 'What speaks against the region of a rule for the review, given as WKT in EPSG:4326; null for nothing';
