-- Which species were found in which 10 km squares of the European reference grid (O5.7). Only the squares of a page are counted: a
-- walk through those that hold anything, in the order of their numbers. A species with few records is counted as a whole instead.

-- Counts by square and species.
--   art, gid, jahr_von, jahr_bis, box   as in ausgabe.list_raster_zahl
--   after_x, after_y, after_art         behind this square and species; null from the beginning
--   row_limit                           at most so many, in the order of their numbers
-- returns                               x, y as in gis.raster_feld
create or replace function ausgabe.list_verbreitung(
  art integer, gid integer, jahr_von integer, jahr_bis integer, box public.geometry, after_x integer, after_y integer, after_art bigint,
  row_limit integer)
  returns table (
    x integer, y integer, art_id integer, meldungen bigint, erstes_jahr integer, letztes_jahr integer, verschleiert bigint)
  language plpgsql
  stable
  -- Compiling takes longer than any of its statements.
  set jit = off
as $$
#variable_conflict use_column
declare
  -- There is no date of a year 0, which outputs allow.
  v_from constant date := coalesce(pg_catalog.make_date(nullif(jahr_von, 0), 1, 1), '-infinity');
  v_before constant date := coalesce(pg_catalog.make_date(jahr_bis + 1, 1, 1), 'infinity');
  v_arten constant integer[] := ausgabe.to_arten(list_verbreitung.art, gid);
  v_after_x constant integer := coalesce(after_x, -1000000000);
  v_after_y constant integer := coalesce(after_y, -1000000000);
  v_after_art constant bigint := coalesce(after_art, -1);
  v_has_few constant boolean := (select ausgabe.has_few_records(v_arten, l.page_records) from ausgabe.get_raster_limits() l);
  v_counts constant text := ' as art_id, count(*) as meldungen, extract(year from min(g.datum))::integer as erstes_jahr,
    extract(year from max(g.datum))::integer as letztes_jahr, count(*) filter (where g.unschaerfe_m > 0) as verschleiert
    from gis.sichtbeobachtung_raster g
    where g.datum >= $4 and g.datum < $5';
  v_x integer[];
  v_y integer[];
begin
  if box is not null then
    select array_agg(m.x order by m.x, m.y), array_agg(m.y order by m.x, m.y) into v_x, v_y
    from (
      select distinct f.x, f.y
      from gis.raster_feld f
      where f.gitter = 'eea10' and f.cell operator(public.&&) box and public.st_intersects(f.cell, box)
        and (f.x, f.y) >= (v_after_x, v_after_y)
    ) m;
  end if;
  if v_has_few then
    return query execute '
      select a.x, a.y, a.art_id, a.meldungen, a.erstes_jahr, a.letztes_jahr, a.verschleiert
      from (
        select g.eea10 / 1000 as x, g.eea10 % 1000 as y, g.art' || v_counts || ' and g.art = any ($6) and g.eea10 is not null
        group by g.eea10, g.art) a
      where (a.x, a.y, a.art_id) > ($1, $2, $3)'
      || case when box is null then '' else ' and (a.x, a.y) in (select u.x, u.y from unnest($7, $8) u (x, y))' end || '
      order by a.x, a.y, a.art_id
      limit $9'
      using v_after_x, v_after_y, v_after_art, v_from, v_before, v_arten, v_x, v_y, row_limit;
  else
    -- The nested loop keeps the order of the squares, and ends with the last one of the page.
    return query execute '
      with feld as materialized ('
        || case when box is null
          then 'select b.x, b.y from gis.raster_besetzt b where b.gitter = ''eea10'' and (b.x, b.y) >= ($1, $2) order by b.x, b.y'
          else 'select u.x, u.y from unnest($7, $8) with ordinality u (x, y, n) order by u.n' end || ')
      select z.x, z.y, c.art_id, c.meldungen, c.erstes_jahr, c.letztes_jahr, c.verschleiert
      from feld z
      cross join lateral (
        select g.art' || v_counts || ' and g.eea10 = z.x * 1000 + z.y'
        -- Not looked up one by one, where a group has hundreds.
        || case when v_arten is null then '' when cardinality(v_arten) = 1 then ' and g.art = $6[1]' else ' and (g.art = any ($6)) is true' end || '
        group by g.art
        having (z.x, z.y, g.art) > ($1, $2, $3)
        order by g.art) c
      limit $9'
      using v_after_x, v_after_y, v_after_art, v_from, v_before, v_arten, v_x, v_y, row_limit;
  end if;
end
$$;
comment on function ausgabe.list_verbreitung(
  integer, integer, integer, integer, public.geometry, integer, integer, bigint, integer) is
  'Counts of sightings by 10 km square and species, by species, group, years and box';

-- A square and a species as a GeoJSON feature; null without the square.
create or replace function ausgabe.to_verbreitung_feature(
    x integer, y integer, art integer, meldungen bigint, erstes_jahr integer, letztes_jahr integer, verschleiert bigint, srid integer,
    north_first boolean)
  returns text
  language sql
  stable
as $$
  select '{"type":"Feature","id":' || pg_catalog.to_json(p.id) || ',"geometry":'
    || ausgabe.to_geojson(p.cell, to_verbreitung_feature.srid, to_verbreitung_feature.north_first)
    || ',"properties":' || pg_catalog.row_to_json(e) || '}'
  from (
    select f.code || '-' || to_verbreitung_feature.art as id, f.code, f.cell
    from gis.raster_feld f
    where f.gitter = 'eea10' and f.x = to_verbreitung_feature.x and f.y = to_verbreitung_feature.y
    limit 1) p
  left join gis.art a on a.id = to_verbreitung_feature.art
  cross join lateral (
    select p.id, p.code, to_verbreitung_feature.art, a.name_deutsch, a.name_wissenschaftlich, a.gid, a.artengruppe,
      to_verbreitung_feature.meldungen, to_verbreitung_feature.erstes_jahr, to_verbreitung_feature.letztes_jahr,
      to_verbreitung_feature.verschleiert) e
$$;
comment on function ausgabe.to_verbreitung_feature(
  integer, integer, integer, bigint, integer, integer, bigint, integer, boolean) is
  '10 km square and species with its counts as a GeoJSON feature';

-- A page of squares and species. Parameters as in ausgabe.list_verbreitung, the box as in ausgabe.list_sichtbeobachtung.
--   after_key  10kmE432N312-17, the id of the last feature of the page before
create or replace function ausgabe.list_verbreitung_feature(
    art integer, gid integer, jahr_von integer, jahr_bis integer, box float8[], box_srid integer, after_key text, skip integer,
    row_limit integer, srid integer, north_first boolean)
  returns table (features text, last_key text, returned integer)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_variable
declare
  v_area constant public.geometry := ausgabe.to_area(box, box_srid);
  v_after constant text[] := pg_catalog.regexp_match(after_key, '^10kmE(\d+)N(\d+)-(\d+)$');
  v_feature text[];
  v_lage text[];
begin
  -- A box far away is not the same as none.
  if box is null or v_area is not null then
    select
      pg_catalog.array_agg(
        ausgabe.to_verbreitung_feature(
          z.x, z.y, z.art_id, z.meldungen, z.erstes_jahr, z.letztes_jahr, z.verschleiert, srid, north_first)
        order by z.x, z.y, z.art_id),
      pg_catalog.array_agg(pg_catalog.format('10kmE%sN%s-%s', z.x, z.y, z.art_id) order by z.x, z.y, z.art_id)
    into v_feature, v_lage
    from (
      select l.*
      from ausgabe.list_verbreitung(
        art, gid, jahr_von, jahr_bis, v_area, v_after[1]::integer, v_after[2]::integer, v_after[3]::bigint, skip + row_limit + 1) l
      offset skip) z;
  end if;
  return query
  select p.features, p.last_key, p.returned
  from ausgabe.to_feature_page(coalesce(v_feature, '{}'), coalesce(v_lage, '{}'), row_limit) p;
end
$$;
comment on function ausgabe.list_verbreitung_feature(
  integer, integer, integer, integer, float8[], integer, text, integer, integer, integer, boolean) is
  '10 km squares and species with their counts as a page of GeoJSON features, by species, group, years and box';

-- One square and species.
--   code  of the square
create or replace function ausgabe.get_verbreitung_feature(code text, art integer, srid integer, north_first boolean)
  returns text
  language sql
  stable
as $$
  select ausgabe.to_verbreitung_feature(
    f.x, f.y, get_verbreitung_feature.art, c.meldungen, c.erstes_jahr, c.letztes_jahr, c.verschleiert, get_verbreitung_feature.srid,
    get_verbreitung_feature.north_first)
  from (select f.x, f.y from gis.raster_feld f where f.gitter = 'eea10' and f.code = get_verbreitung_feature.code limit 1) f
  cross join lateral (
    select count(*) as meldungen, extract(year from min(g.datum))::integer as erstes_jahr,
      extract(year from max(g.datum))::integer as letztes_jahr, count(*) filter (where g.unschaerfe_m > 0) as verschleiert
    from gis.sichtbeobachtung_raster g
    where g.eea10 = f.x * 1000 + f.y and g.art = get_verbreitung_feature.art
    having count(*) > 0) c
$$;
comment on function ausgabe.get_verbreitung_feature(text, integer, integer, boolean) is
  'One 10 km square and species with its counts as a GeoJSON feature, null where there is no sighting';
