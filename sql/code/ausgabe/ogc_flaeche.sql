-- Features for GIS programs that are areas (O2): squares of the grids with their counts, and tenants.

-- A square of a grid as a GeoJSON feature.
create or replace function ausgabe.to_raster_feature(
    code text, meldungen bigint, arten bigint, erstes_jahr integer, letztes_jahr integer, verschleiert bigint, cell public.geometry,
    srid integer, north_first boolean)
  returns text
  language sql
  stable
as $$
  select '{"type":"Feature","id":' || pg_catalog.to_json(code) || ',"geometry":' || ausgabe.to_geojson(cell, srid, north_first)
    || ',"properties":{"code":' || pg_catalog.to_json(code) || ',"meldungen":' || meldungen || ',"arten":' || arten
    || ',"erstes_jahr":' || erstes_jahr || ',"letztes_jahr":' || letztes_jahr || ',"verschleiert":' || verschleiert || '}}'
$$;
comment on function ausgabe.to_raster_feature(
  text, bigint, bigint, integer, integer, bigint, public.geometry, integer, boolean) is 'Square of a grid with its counts as a GeoJSON feature';

-- The same of a square by its numbers.
create or replace function ausgabe.to_raster_feature_of(
    gitter text, x integer, y integer, meldungen bigint, arten bigint, erstes_jahr integer, letztes_jahr integer, verschleiert bigint)
  returns text
  language sql
  stable
as $$
  select ausgabe.to_raster_feature(
    f.code, to_raster_feature_of.meldungen, to_raster_feature_of.arten, to_raster_feature_of.erstes_jahr, to_raster_feature_of.letztes_jahr,
    to_raster_feature_of.verschleiert, f.cell, 4326, false)
  from gis.raster_feld f
  where f.gitter = to_raster_feature_of.gitter and f.x = to_raster_feature_of.x and f.y = to_raster_feature_of.y
  limit 1
$$;
comment on function ausgabe.to_raster_feature_of(text, integer, integer, bigint, bigint, integer, integer, bigint) is
  'Square of a grid, by its numbers, with its counts as a GeoJSON feature in degrees';

-- A page of the squares of a grid, of all species and years and in degrees: as they are kept. So many as a page has at most are far less than
-- ausgabe.get_max_bytes.
create or replace function ausgabe.list_raster_feature_aller(gitter text, after_key text, skip integer, row_limit integer)
  returns table (features text, last_key text, returned integer)
  language plpgsql
  stable
  rows 1
  set plan_cache_mode = force_generic_plan
  -- Else the planner fetches all that are kept, and sorts them.
  set enable_bitmapscan = off
  set enable_seqscan = off
  -- Compiling takes longer than any of its statements.
  set jit = off
as $$
#variable_conflict use_variable
declare
  v_after integer[] := coalesce(ausgabe.to_raster_xy(gitter, after_key), array[-1000000000, -1000000000]);
begin
  select coalesce(pg_catalog.string_agg(f.feature, E',\n'), ''), count(*), array[max(f.x), (pg_catalog.array_agg(f.y))[count(*)]]
  into features, returned, v_after
  from (
    (select k.x, k.y, coalesce(k.feature, ausgabe.to_raster_feature_of(
        gitter, k.x, k.y, k.meldungen, k.arten, k.erstes_jahr, k.letztes_jahr, k.verschleiert)) as feature
      from gis.raster_feature k
      where k.gitter = list_raster_feature_aller.gitter and (k.x, k.y) > (v_after[1], v_after[2])
      order by k.x, k.y
      limit skip + row_limit)
    union all
    (select z.x, z.y, ausgabe.to_raster_feature_of(
        gitter, z.x, z.y, z.meldungen, z.arten, z.erstes_jahr, z.letztes_jahr, z.verschleiert)
      from gis.raster_zahl z
      where z.ist_neu and z.gitter = list_raster_feature_aller.gitter and (z.x, z.y) > (v_after[1], v_after[2])
      order by z.x, z.y)
    order by 1, 2
    limit row_limit offset skip) f;
  if exists (select from gis.raster_zahl z where z.gitter = list_raster_feature_aller.gitter and (z.x, z.y) > (v_after[1], v_after[2])) then
    last_key := (
      select n.code from gis.raster_feld n
      where n.gitter = list_raster_feature_aller.gitter and n.x = v_after[1] and n.y = v_after[2] limit 1);
  end if;
  return next;
end
$$;
comment on function ausgabe.list_raster_feature_aller(text, text, integer, integer) is
  'Squares of a grid with their counts as a page of GeoJSON features in degrees';

-- A page of the squares of a grid. Parameters as in ausgabe.list_raster, the box as in ausgabe.list_sichtbeobachtung.
create or replace function ausgabe.list_raster_feature(
    gitter text, art integer, gid integer, jahr_von integer, jahr_bis integer, box float8[], box_srid integer, after_key text,
    skip integer, row_limit integer, srid integer, north_first boolean)
  returns table (features text, last_key text, returned integer)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_variable
declare
  v_area constant public.geometry := ausgabe.to_area(box, box_srid);
  v_feature text[];
  v_lage text[];
begin
  if coalesce(art, gid, jahr_von, jahr_bis, box_srid) is null and srid = 4326 and not north_first and row_limit <= 10000 then
    return query select p.* from ausgabe.list_raster_feature_aller(gitter, after_key, skip, row_limit) p;
    return;
  end if;
  -- A box far away is not the same as none.
  if box is null or v_area is not null then
    select
      pg_catalog.array_agg(ausgabe.to_raster_feature(
        z.code, z.meldungen, z.arten, z.erstes_jahr, z.letztes_jahr, z.verschleiert, z.cell, srid, north_first)),
      pg_catalog.array_agg(z.code)
    into v_feature, v_lage
    from (
      select l.*
      from ausgabe.list_raster(gitter, art, gid, jahr_von, jahr_bis, v_area, after_key, skip + row_limit + 1) l
      offset skip) z;
  end if;
  return query
  select p.features, p.last_key, p.returned
  from ausgabe.to_feature_page(coalesce(v_feature, '{}'), coalesce(v_lage, '{}'), row_limit) p;
end
$$;
comment on function ausgabe.list_raster_feature(
  text, integer, integer, integer, integer, float8[], integer, text, integer, integer, integer, boolean) is
  'Squares of a grid with their counts as a page of GeoJSON features, by species, group, years and box';

create or replace function ausgabe.get_raster_feature(gitter text, code text, srid integer, north_first boolean)
  returns text
  language sql
  stable
as $$
  select ausgabe.to_raster_feature(
    z.code, z.meldungen, z.arten, z.erstes_jahr, z.letztes_jahr, z.verschleiert, z.cell, srid, north_first)
  from ausgabe.get_raster(gitter, get_raster_feature.code, null, null, null, null) z
$$;
comment on function ausgabe.get_raster_feature(text, text, integer, boolean) is
  'One square of a grid with its counts as a GeoJSON feature, null where it holds no record';

-- Tenants as GeoJSON features, in the order of their abbreviations.
--   kuerzel  of one of them; null for all
-- returns    lage: the abbreviation
create or replace function ausgabe.render_mandant(kuerzel text, srid integer, north_first boolean)
  returns table (lage text, boundary public.geometry, feature text)
  language sql
  stable
as $$
  select m.kuerzel, m.boundary,
    '{"type":"Feature","id":' || pg_catalog.to_json(m.kuerzel) || ',"geometry":'
      || ausgabe.to_geojson(m.boundary, render_mandant.srid, north_first) || ',"properties":' || pg_catalog.row_to_json(p) || '}'
  from gis.mandant m
  cross join lateral (
    select m.id, m.kuerzel, m.name, m.quelle,
      pg_catalog.to_char(m.stand at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as stand) p
  where render_mandant.kuerzel is null or pg_catalog.lower(m.kuerzel) = pg_catalog.lower(render_mandant.kuerzel)
  order by pg_catalog.lower(m.kuerzel)
$$;
comment on function ausgabe.render_mandant(text, integer, boolean) is 'Tenants with their boundaries as GeoJSON features';

create or replace function ausgabe.list_mandant_feature(
    box float8[], box_srid integer, after_key text, skip integer, row_limit integer, srid integer, north_first boolean)
  returns table (features text, last_key text, returned integer)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_variable
declare
  v_area constant public.geometry := ausgabe.to_area(box, box_srid);
  v_feature text[];
  v_lage text[];
begin
  select pg_catalog.array_agg(f.feature), pg_catalog.array_agg(f.lage)
  into v_feature, v_lage
  from (
    select r.feature, r.lage
    from ausgabe.render_mandant(null, srid, north_first) r
    where (after_key is null or pg_catalog.lower(r.lage) > pg_catalog.lower(after_key))
      and (box is null or public.st_intersects(r.boundary, v_area))
    limit row_limit + 1 offset skip) f;
  return query
  select p.features, p.last_key, p.returned
  from ausgabe.to_feature_page(coalesce(v_feature, '{}'), coalesce(v_lage, '{}'), row_limit) p;
end
$$;
comment on function ausgabe.list_mandant_feature(float8[], integer, text, integer, integer, integer, boolean) is
  'Tenants as a page of GeoJSON features, by box';

create or replace function ausgabe.get_mandant_feature(kuerzel text, srid integer, north_first boolean)
  returns text
  language sql
  stable
as $$
  select r.feature from ausgabe.render_mandant(get_mandant_feature.kuerzel, srid, north_first) r
$$;
comment on function ausgabe.get_mandant_feature(text, integer, boolean) is 'One tenant as a GeoJSON feature, null where there is none';

-- Where anything may lie: the squares that hold sightings, and the tenants.
--   margin  metres around them
-- returns     west, south, east, north in degrees; null where there is nothing
create or replace function ausgabe.get_extent(margin float8)
  returns float8[]
  language sql
  stable
as $$
  select ausgabe.to_degrees(public.st_expand(public.st_envelope(public.st_collect(e.extent)), margin))
  from (
    select public.st_envelope(public.st_collect(f.cell)) as extent
    from (select min(z.x) as x1, min(z.y) as y1, max(z.x) as x2, max(z.y) as y2 from gis.raster_zahl z where z.gitter = '5km') z
    join gis.raster_feld f on f.gitter = '5km' and ((f.x = z.x1 and f.y = z.y1) or (f.x = z.x2 and f.y = z.y2))
    union all
    select public.st_envelope(m.boundary) from gis.mandant m) e
$$;
comment on function ausgabe.get_extent(float8) is 'Box around all sightings and tenants, in degrees';

-- Where tenants lie.
--   box  west, south, east, north in degrees
create or replace function ausgabe.list_mandant_box()
  returns table (kuerzel text, box float8[])
  language sql
  stable
as $$
  select m.kuerzel, ausgabe.to_degrees(public.st_envelope(m.boundary)) from gis.mandant m order by m.id
$$;
comment on function ausgabe.list_mandant_box() is 'Boxes around tenants, in degrees';
