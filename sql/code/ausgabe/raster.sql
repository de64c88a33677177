-- Squares of the grids with their counts, for maps and GIS programs (O2.3).

-- Numbers of a square, from its code: it may hold nothing any more.
create or replace function ausgabe.to_raster_xy(gitter text, code text)
  returns integer[]
  language sql
  immutable
  strict
  parallel safe
as $$
  select case to_raster_xy.gitter
    when '5km' then pg_catalog.string_to_array(to_raster_xy.code, '/')
    when 'eea10' then pg_catalog.regexp_match(to_raster_xy.code, 'E([0-9]+)N([0-9]+)')
    when 'mtb' then array[pg_catalog.left(to_raster_xy.code, 2), pg_catalog.substr(to_raster_xy.code, 3, 2)]
    when 'mtbq' then pg_catalog.string_to_array(to_raster_xy.code, '/') end::integer[]
$$;
comment on function ausgabe.to_raster_xy(text, text) is 'Numbers of a square of a grid as in gis.raster_feld, from its code';

-- The squares of a grid that hold records, in the order of their numbers.
--   gitter                5km, eea10, mtb or mtbq; another one has no squares
--   art, gid              species, group; null for all
--   jahr_von, jahr_bis    years, both included; null for no bound
--   box                   EPSG:25832: squares that meet it; null for all
--   after_code            squares behind this one; null from the beginning
--   row_limit             at most so many
-- returns                 verschleiert: how many of meldungen are masked, and so may lie beside it; cell: polygon, EPSG:25832
create or replace function ausgabe.list_raster(
  gitter text, art integer, gid integer, jahr_von integer, jahr_bis integer, box public.geometry, after_code text, row_limit integer)
  returns table (
    code text, meldungen bigint, arten bigint, erstes_jahr integer, letztes_jahr integer, verschleiert bigint, cell public.geometry)
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_after constant integer[] := ausgabe.to_raster_xy(gitter, after_code);
begin
  return query
  select f.code, p.meldungen, p.arten, p.erstes_jahr, p.letztes_jahr, p.verschleiert, f.cell
  from ausgabe.list_raster_zahl(gitter, art, gid, jahr_von, jahr_bis, box, v_after[1], v_after[2], row_limit) p
  cross join lateral (
    select f.code, f.cell from gis.raster_feld f where f.gitter = list_raster.gitter and f.x = p.x and f.y = p.y limit 1) f
  order by p.x, p.y;
end
$$;
comment on function ausgabe.list_raster(text, integer, integer, integer, integer, public.geometry, text, integer) is
  'Squares of a grid with their counts of sightings and species, by species, group, years and box';

-- One square of a grid, as ausgabe.list_raster has it; no row where it holds no record.
--   feld  code of the square
create or replace function ausgabe.get_raster(
  gitter text, feld text, art integer, gid integer, jahr_von integer, jahr_bis integer)
  returns table (
    code text, meldungen bigint, arten bigint, erstes_jahr integer, letztes_jahr integer, verschleiert bigint, cell public.geometry)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_column
begin
  return query
  select f.code, z.meldungen, z.arten, z.erstes_jahr, z.letztes_jahr, z.verschleiert, f.cell
  from (select f.* from gis.raster_feld f where f.gitter = get_raster.gitter and f.code = get_raster.feld limit 1) f
  -- A box around its middle, so that it alone is counted.
  cross join lateral ausgabe.list_raster_zahl(
    gitter, art, gid, jahr_von, jahr_bis, public.st_centroid(f.cell), null, null, null) z
  where z.x = f.x and z.y = f.y;
end
$$;
comment on function ausgabe.get_raster(text, text, integer, integer, integer, integer) is
  'One square of a grid with its counts of sightings and species, by species, group and years';

-- A square of 5 km times a power of two as web maps show it. A wide one has curved sides there.
--   stufe   that power; 0 for a cell
--   x, y    numbers of the cells in it, divided by 2 to the power of stufe
-- returns   polygon, EPSG:3857
create or replace function ausgabe.to_map_square(stufe integer, x integer, y integer)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select ausgabe.to_map_polygon(public.st_segmentize(
    public.st_makeenvelope(x * s.side, y * s.side, (x + 1) * s.side, (y + 1) * s.side, 25832), s.side / least(stufe + 1, 4)))
  from (select 5000 * 2.0 ^ stufe as side) s
$$;
comment on function ausgabe.to_map_square(integer, integer, integer) is 'Square of 5 km times a power of two in EPSG:3857';

-- All species and years, as they are kept, for tiles: squares that a box touches. Where something changed just now the 5 km cells are put
-- together here.
--   stufe   a square has 5 km times 2 to the power of this; 0 to 9
--   box     EPSG:25832
-- returns   x, y: numbers of cells, divided by 2 to the power of stufe; cell: polygon, EPSG:3857
create or replace function ausgabe.list_raster_karte(stufe integer, box public.geometry)
  returns table (x integer, y integer, meldungen bigint, arten bigint, verschleiert bigint, cell public.geometry)
  language plpgsql
  stable
  -- To plan it anew takes longer than the statement.
  set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_side constant float8 := 5000 * 2 ^ stufe;
  v_x_min constant integer := pg_catalog.floor(public.st_xmin(box) / v_side);
  v_y_min constant integer := pg_catalog.floor(public.st_ymin(box) / v_side);
  v_x_max constant integer := pg_catalog.floor(public.st_xmax(box) / v_side);
  v_y_max constant integer := pg_catalog.floor(public.st_ymax(box) / v_side);
begin
  return query
  with feld as materialized (
    select k.x, k.y, k.meldungen, k.arten, k.verschleiert, k.cell
    from gis.raster_grob k
    where k.stufe = list_raster_karte.stufe and k.x between v_x_min and v_x_max and k.y between v_y_min and v_y_max
  ),
  zahl as materialized (
    select z.x >> stufe as x, z.y >> stufe as y, z.meldungen, z.verschleiert, z.artenmenge
    from gis.raster_zahl z
    where exists (select from feld f where f.meldungen is null)
      and z.gitter = '5km' and z.x >= v_x_min << stufe and z.x < (v_x_max + 1) << stufe
      and z.y >= v_y_min << stufe and z.y < (v_y_max + 1) << stufe
      and (z.x >> stufe, z.y >> stufe) in (select f.x, f.y from feld f where f.meldungen is null)
  )
  select f.x, f.y, f.meldungen, f.arten::bigint, f.verschleiert, f.cell from feld f where f.meldungen is not null
  union all
  select z.x, z.y, sum(z.meldungen)::bigint,
    pg_catalog.bit_count(pg_catalog.bit_or(
      -- Of one length: there may be more species than when some were counted.
      pg_catalog.bit(z.artenmenge, (select max(pg_catalog.length(l.artenmenge)) from zahl l), true))),
    sum(z.verschleiert)::bigint, ausgabe.to_map_square(stufe, z.x, z.y)
  from zahl z
  group by z.x, z.y
  order by 1, 2;
end
$$;
comment on function ausgabe.list_raster_karte(integer, public.geometry) is
  'Counts of all sightings and species by squares of 5 km times a power of two that a box touches';

-- The same of some species or years: records are counted.
--   box       EPSG:25832: squares of cells that meet it, with what else belongs to them; null for all
-- returns     as ausgabe.list_raster_karte
create or replace function ausgabe.list_raster_auswahl(
  stufe integer, art integer, gid integer, jahr_von integer, jahr_bis integer, box public.geometry)
  returns table (x integer, y integer, meldungen bigint, arten bigint, cell public.geometry)
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_side constant float8 := 5000 * 2 ^ stufe;
  -- There is no date of a year 0, which outputs allow.
  v_from constant date := coalesce(pg_catalog.make_date(nullif(jahr_von, 0), 1, 1), '-infinity');
  v_before constant date := coalesce(pg_catalog.make_date(jahr_bis + 1, 1, 1), 'infinity');
  -- Whole squares, so that their counts don't depend on how the map is cut. Bounds also without a box, so that one plan serves both.
  v_x_min constant integer := coalesce(pg_catalog.floor(public.st_xmin(box) / v_side)::integer << stufe, -1000000000);
  v_y_min constant integer := coalesce(pg_catalog.floor(public.st_ymin(box) / v_side)::integer << stufe, -1000000000);
  v_x_max constant integer := coalesce((pg_catalog.floor(public.st_xmax(box) / v_side)::integer + 1) << stufe, 1000000000);
  v_y_max constant integer := coalesce((pg_catalog.floor(public.st_ymax(box) / v_side)::integer + 1) << stufe, 1000000000);
begin
  return query
  select a.x, a.y, sum(a.meldungen)::bigint, count(*), ausgabe.to_map_square(stufe, a.x, a.y)
  from ausgabe.list_art_zahl_grob(
    stufe, ausgabe.to_arten(art, gid), v_from, v_before, v_x_min, v_x_max, v_y_min, v_y_max) a
  group by a.x, a.y
  order by a.x, a.y;
end
$$;
comment on function ausgabe.list_raster_auswahl(integer, integer, integer, integer, integer, public.geometry) is
  'Counts of sightings and species by squares of 5 km times a power of two, by species, group and years';
