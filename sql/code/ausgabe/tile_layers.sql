-- Vector tiles (O3.1): WebMercatorQuad, in coordinates of the tile (4096 units, from its north-western corner). What is in a tile is
-- listed here, for both databases: layer by layer.

-- A tile as a polygon where records are kept, and a little more.
--   z, x, y   number of the tile
--   margin    that much more on each side, of its width
-- returns     EPSG:25832 (metres); null for a tile that is too far from UTM zone 32 to be projected
-- example     ausgabe.to_tile_box(10, 534, 349, 0)  ->  a box of 25 km near Kaiserslautern
create or replace function ausgabe.to_tile_box(z integer, x integer, y integer, margin float8)
  returns public.geometry
  language plpgsql
  stable
  parallel safe
as $$
declare
  v_tile public.geometry := public.st_tileenvelope(z, x, y, margin => to_tile_box.margin);
  -- The window in which UTM zone 32 means anything, as for reports.
  v_west float8 := greatest(public.st_xmin(v_tile), -5.6e6);
  v_east float8 := least(public.st_xmax(v_tile), 7.6e6);
  v_box public.geometry;
begin
  if v_west >= v_east then
    return null;
  end if;
  -- Its sides are curves there: points on them, and half a per cent for what lies between those.
  v_box := public.st_transform(
    public.st_segmentize(
      public.st_makeenvelope(
        v_west, greatest(public.st_ymin(v_tile), -2e7), v_east, least(public.st_ymax(v_tile), 2e7), 3857),
      (v_east - v_west) / 8),
    25832);
  return public.st_expand(v_box, 0.005 * (public.st_xmax(v_box) - public.st_xmin(v_box)));
end
$$;
comment on function ausgabe.to_tile_box(integer, integer, integer, float8) is
  'Box of a tile and a margin around it in EPSG:25832; null for one that is too far from UTM zone 32';

-- A geometry in coordinates of a tile, cut 64 units beyond its edges. ST_AsMVTGeom would do it on PostgreSQL alone.
--   geometry  EPSG:3857, polygonal
-- returns     polygons with whole numbers, outer rings as tiles want them; null where nothing is left
create or replace function ausgabe.to_tile_polygon(geometry public.geometry, z integer, x integer, y integer)
  returns public.geometry
  language plpgsql
  immutable
  parallel safe
as $$
declare
  v_tile public.geometry := public.st_tileenvelope(z, x, y);
  v_scale float8 := 4096 / (public.st_xmax(v_tile) - public.st_xmin(v_tile));
  -- Simplified and cut, a boundary may cross itself.
  v_polygon public.geometry := public.st_forcepolygonccw(public.st_collectionextract(public.st_reduceprecision(
    public.st_makevalid(public.st_affine(
      public.st_clipbybox2d(geometry, public.st_tileenvelope(z, x, y, margin => 64.0 / 4096)::public.box2d),
      v_scale, 0, 0, -v_scale, -v_scale * public.st_xmin(v_tile), v_scale * public.st_ymax(v_tile))),
    1), 3));
begin
  return case when not public.st_isempty(v_polygon) then public.st_setsrid(v_polygon, 0) end;
end
$$;
comment on function ausgabe.to_tile_polygon(public.geometry, integer, integer, integer) is
  'Polygons of EPSG:3857 in coordinates of a tile, cut a little beyond its edges; null where nothing is left';

-- The same of a square, in less steps: most often it lies inside of the tile, or is cut to another convex polygon.
create or replace function ausgabe.to_tile_square(square public.geometry, z integer, x integer, y integer)
  returns public.geometry
  language plpgsql
  immutable
  parallel safe
as $$
declare
  v_scale constant float8 := 4096 * 2.0 ^ z / 40075016.685578488;
  v_square constant public.geometry := public.st_affine(
    square, v_scale, 0, 0, -v_scale, 2048 * 2.0 ^ z - 4096 * x, 2048 * 2.0 ^ z - 4096 * y);
  v_is_inside constant boolean := public.st_xmin(v_square) >= -64 and public.st_xmax(v_square) <= 4160
    and public.st_ymin(v_square) >= -64 and public.st_ymax(v_square) <= 4160;
  -- To whole numbers, in a fiftieth of what ST_ReducePrecision takes.
  v_part constant public.geometry := public.st_snaptogrid(
    case when v_is_inside then v_square
      else public.st_clipbybox2d(v_square, public.st_makeenvelope(-64, -64, 4160, 4160)::public.box2d) end,
    1);
begin
  return case
    when public.st_isempty(v_part) then null
    -- What is thin may cross itself in whole numbers.
    when v_is_inside or public.st_isvalidreason(v_part) = 'Valid Geometry' then public.st_setsrid(public.st_forcepolygonccw(v_part), 0)
    else ausgabe.to_tile_polygon(square, z, x, y) end;
end
$$;
comment on function ausgabe.to_tile_square(public.geometry, integer, integer, integer) is
  'Square of EPSG:3857 in coordinates of a tile, cut a little beyond its edges; null where nothing is left';

-- A number for a square, the same in every tile that shows a part of it, so that maps can tell parts from squares.
create or replace function ausgabe.to_tile_square_id(x integer, y integer)
  returns bigint
  language sql
  immutable
  parallel safe
as $$
  select (x + 1048576) * 2097152::bigint + y + 1048576
$$;
comment on function ausgabe.to_tile_square_id(integer, integer) is
  'Number of a square of a grid from EPSG:25832, made of its column and row';

-- Counts by square, up to z 9: 5 km at z 9, twice as wide at each level below.
create or replace function ausgabe.list_tile_raster(
    z integer, x integer, y integer, art integer, artengruppe_id integer, jahr_von integer, jahr_bis integer)
  returns table (fid bigint, meldungen bigint, arten bigint, geom public.geometry)
  language plpgsql
  stable
as $$
declare
  v_box public.geometry := ausgabe.to_tile_box(z, x, y, 64.0 / 4096);
  v_is_filtered constant boolean := coalesce(list_tile_raster.art, artengruppe_id, list_tile_raster.jahr_von, list_tile_raster.jahr_bis) is not null;
begin
  if list_tile_raster.z > 9 or v_box is null then
    return;
  end if;
  return query
  select ausgabe.to_tile_square_id(r.x, r.y), r.meldungen, r.arten, t.geom
  from (
    select k.x, k.y, k.meldungen, k.arten, k.cell
    from ausgabe.list_raster_karte(9 - z, v_box) k
    where not v_is_filtered
    union all
    select g.x, g.y, g.meldungen, g.arten, g.cell
    from ausgabe.list_raster_auswahl(
      stufe => 9 - z, art => list_tile_raster.art, gid => artengruppe_id, jahr_von => list_tile_raster.jahr_von,
      jahr_bis => list_tile_raster.jahr_bis, box => v_box) g
    where v_is_filtered) r
  cross join lateral (select ausgabe.to_tile_square(r.cell, z, list_tile_raster.x, list_tile_raster.y) as geom offset 0) t
  where t.geom is not null
  order by r.x, r.y;
end
$$;
comment on function ausgabe.list_tile_raster(integer, integer, integer, integer, integer, integer, integer) is
  'Layer raster of a tile: counts by square, up to z 9';

-- Squares that hold masked records, with their number, from z 10: such a record has no place but its square.
create or replace function ausgabe.list_tile_zelle(
    z integer, x integer, y integer, art integer, artengruppe_id integer, jahr_von integer, jahr_bis integer)
  returns table (fid bigint, meldungen bigint, geom public.geometry)
  language plpgsql
  stable
as $$
declare
  v_box public.geometry := ausgabe.to_tile_box(z, x, y, 64.0 / 4096);
  v_is_filtered constant boolean := coalesce(list_tile_zelle.art, artengruppe_id, list_tile_zelle.jahr_von, list_tile_zelle.jahr_bis) is not null;
begin
  if list_tile_zelle.z < 10 or v_box is null then
    return;
  end if;
  return query
  with masked as (
    select k.x, k.y, k.verschleiert, k.cell from ausgabe.list_raster_karte(0, v_box) k where not v_is_filtered
    union all
    select l.x, l.y, l.verschleiert, ausgabe.to_map_square(0, l.x, l.y)
    from ausgabe.list_raster_zahl(
      '5km', list_tile_zelle.art, artengruppe_id, list_tile_zelle.jahr_von, list_tile_zelle.jahr_bis, v_box, null, null, 10000) l
    where v_is_filtered
  )
  select ausgabe.to_tile_square_id(m.x, m.y), m.verschleiert, t.geom
  from masked m
  cross join lateral (select ausgabe.to_tile_square(m.cell, z, list_tile_zelle.x, list_tile_zelle.y) as geom offset 0) t
  where m.verschleiert > 0 and t.geom is not null
  order by m.x, m.y;
end
$$;
comment on function ausgabe.list_tile_zelle(integer, integer, integer, integer, integer, integer, integer) is
  'Layer zelle of a tile: squares that hold masked records, from z 10';

-- Boundaries, as fine as the tile can show.
--   teilung  what is thinner than a quarter of such a square is left out
create or replace function ausgabe.list_tile_mandant(z integer, x integer, y integer, teilung integer)
  returns table (kuerzel text, name text, geom public.geometry)
  language plpgsql
  stable
as $$
declare
  v_box public.geometry := ausgabe.to_tile_box(z, x, y, 128.0 / 4096);
  -- Of a tile's width on the ground in the middle of the area, where it is about two thirds of what it is at the equator.
  v_tolerance float8 := 40075016.7 / pow(2, list_tile_mandant.z) * 0.65 / (teilung * 16);
begin
  return query
  select m.kuerzel, m.name, t.geom
  from gis.mandant m
  cross join lateral (
    select ausgabe.to_tile_polygon(
      public.st_transform(public.st_simplify(public.st_clipbybox2d(m.boundary, v_box::public.box2d), v_tolerance), 3857), z, x, y) as geom
    offset 0) t
  where m.boundary operator(public.&&) v_box and t.geom is not null
  order by pg_catalog.lower(m.kuerzel);
end
$$;
comment on function ausgabe.list_tile_mandant(integer, integer, integer, integer) is
  'Layer mandant of a tile: boundaries, simplified to what the tile can show';

-- The box around all tenants; no row without any.
create or replace function ausgabe.get_tile_bounds()
  returns table (west float8, south float8, east float8, north float8)
  language sql
  stable
as $$
  select public.st_xmin(e.box), public.st_ymin(e.box), public.st_xmax(e.box), public.st_ymax(e.box)
  from (
    -- Of the corners alone: where the sides bend outwards, a little is missing.
    select public.st_extent(public.st_transform(public.st_envelope(m.boundary), 4326)) as box
    from gis.mandant m) e
  where e.box is not null
$$;
comment on function ausgabe.get_tile_bounds() is 'Box around all tenants in degrees, for maps that ask where there is something';
