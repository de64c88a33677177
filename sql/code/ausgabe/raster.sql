-- Squares of the grids with their counts, for maps and GIS programs (O2.3).

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
  v_after_x integer;
  v_after_y integer;
begin
  -- From the code itself: the square may hold nothing any more.
  if after_code is not null then
    v_after_x := case gitter
      when '5km' then pg_catalog.split_part(after_code, '/', 1)
      when 'eea10' then pg_catalog.substring(after_code, 'E([0-9]+)')
      when 'mtb' then pg_catalog.left(after_code, 2)
      when 'mtbq' then pg_catalog.left(after_code, 4) end;
    v_after_y := case gitter
      when '5km' then pg_catalog.split_part(after_code, '/', 2)
      when 'eea10' then pg_catalog.substring(after_code, 'N([0-9]+)')
      when 'mtb' then pg_catalog.substr(after_code, 3, 2)
      when 'mtbq' then pg_catalog.split_part(after_code, '/', 2) end;
  end if;
  return query
  select f.code, p.meldungen, p.arten, p.erstes_jahr, p.letztes_jahr, p.verschleiert, f.cell
  from ausgabe.list_raster_zahl(gitter, art, gid, jahr_von, jahr_bis, box, v_after_x, v_after_y, row_limit) p
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

-- Larger squares, for small maps: cells of the 5 km grid put together.
--   stufe     a square has 5 km times 2 to the power of this; 0 to 8
--   box       EPSG:25832: squares of cells that meet it, with what else belongs to them; null for all
-- returns     cell: polygon, EPSG:25832
create or replace function ausgabe.list_raster_grob(
  stufe integer, art integer, gid integer, jahr_von integer, jahr_bis integer, box public.geometry)
  returns table (meldungen bigint, arten bigint, cell public.geometry)
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
  if art is null and gid is null and jahr_von is null and jahr_bis is null then
    return query
    with zahl as materialized (
      select z.x, z.y, z.meldungen, z.artenmenge
      from gis.raster_zahl z
      where z.gitter = '5km' and z.x >= v_x_min and z.x < v_x_max and z.y >= v_y_min and z.y < v_y_max
    )
    select sum(z.meldungen)::bigint,
      pg_catalog.bit_count(pg_catalog.bit_or(
        -- Of one length: there may be more species than when some were counted.
        pg_catalog.bit(z.artenmenge, (select max(pg_catalog.length(l.artenmenge)) from zahl l), true))),
      public.st_makeenvelope(
        (z.x >> stufe) * v_side, (z.y >> stufe) * v_side, (z.x >> stufe) * v_side + v_side, (z.y >> stufe) * v_side + v_side, 25832)
    from zahl z
    group by z.x >> stufe, z.y >> stufe
    order by z.x >> stufe, z.y >> stufe;
  else
    return query
    select sum(a.meldungen)::bigint, count(*),
      public.st_makeenvelope(a.x * v_side, a.y * v_side, a.x * v_side + v_side, a.y * v_side + v_side, 25832)
    from ausgabe.list_art_zahl_grob(
      stufe, ausgabe.to_arten(art, gid), v_from, v_before, v_x_min, v_x_max, v_y_min, v_y_max) a
    group by a.x, a.y
    order by a.x, a.y;
  end if;
end
$$;
comment on function ausgabe.list_raster_grob(integer, integer, integer, integer, integer, public.geometry) is
  'Counts of sightings and species by squares of 5 km times a power of two, for small maps';
