-- Reprojection and the service area. The only home of ST_Transform.

-- Says whether a position lies in the service area (D3.9) after reprojection. Never raises.
--   lat, lon  northing and easting in the unit of srid (metres, or degrees for 4326)
--   srid      25832, 4326 or 3857
-- returns     true inside or on the edge; false outside, for nonsense and for values that the system doesn't have
create or replace function private.is_inside_area(lat float8, lon float8, srid integer)
  returns boolean
  language plpgsql
  stable
  parallel safe
as $$
declare
  v_point public.geometry;
begin
  v_point := private.project(lat, lon, srid);
  return v_point is not null and exists (
    select from portal.installation i
    where public.st_x(v_point) between i.x_min and i.x_max and public.st_y(v_point) between i.y_min and i.y_max);
end
$$;

-- Reprojects a position to the system in which everything is stored.
-- ST_Transform raises XX000 for nonsense and gives infinities far away from its zone, so what can't be near UTM zone 32
-- (more than 60 degrees from its central meridian) is never handed to it.
--   lat, lon  northing and easting in the unit of srid (metres, or degrees for 4326)
--   srid      25832, 4326 or 3857
-- returns     point, EPSG:25832 (metres): unchanged for 25832, rounded to 0.01 m otherwise (D2.17);
--             null when it is not finite or too far away
-- example     private.project(49.469, 7.682, 4326)  ->  POINT(404552.98 5480386.14)
create or replace function private.project(lat float8, lon float8, srid integer)
  returns public.geometry
  language plpgsql
  stable
  parallel safe
as $$
declare
  v_point public.geometry;
begin
  -- NaN compares greater than everything, so it fails every one of these ranges too.
  case srid
    when 25832 then
      if not (lat between -1e9 and 1e9 and lon between -1e9 and 1e9) then
        return null;
      end if;
      return public.st_setsrid(public.st_makepoint(lon, lat), 25832);
    when 4326 then
      if not (lat between -89 and 89 and lon between -51 and 69) then
        return null;
      end if;
    when 3857 then
      if not (lat between -2e7 and 2e7 and lon between -5.7e6 and 7.7e6) then
        return null;
      end if;
    else
      return null;
  end case;
  v_point := public.st_transform(public.st_setsrid(public.st_makepoint(lon, lat), srid), 25832);
  return public.st_setsrid(public.st_makepoint(
    round(public.st_x(v_point)::numeric, 2)::float8,
    round(public.st_y(v_point)::numeric, 2)::float8), 25832);
end
$$;

-- The point of a position that a user sent, or an error that says what is wrong with it.
--   lat, lon  northing and easting in the unit of srid (metres, or degrees for 4326)
--   srid      25832, 4326 or 3857
-- returns     point, EPSG:25832 (metres), inside the service area
-- errors      WERTB (column lat or lon) outside the range of the system; GBTAU outside the service area, but inside it
--             with lat and lon swapped; GBIET outside the service area
create or replace function private.to_point(lat float8, lon float8, srid integer)
  returns public.geometry
  language plpgsql
  stable
  parallel safe
as $$
declare
  v_lat_max float8 := case srid when 4326 then 90 when 3857 then 20037508.35 else 1e9 end;
  v_lon_max float8 := case srid when 4326 then 180 when 3857 then 20037508.35 else 1e9 end;
begin
  if not private.is_inside_area(lat, lon, srid) then
    if private.is_inside_area(lon, lat, srid) then
      raise exception 'lat and lon are swapped' using errcode = 'GBTAU', column = 'lat';
    elsif not lat between -v_lat_max and v_lat_max then
      raise exception 'lat is out of range' using errcode = 'WERTB', column = 'lat';
    elsif not lon between -v_lon_max and v_lon_max then
      raise exception 'lon is out of range' using errcode = 'WERTB', column = 'lon';
    end if;
    raise exception 'outside the service area' using errcode = 'GBIET', column = 'lat';
  end if;
  return private.project(lat, lon, srid);
end
$$;

-- A boundary as it is stored, from a GeoJSON geometry.
--   geojson  Polygon or MultiPolygon
--   srid     4326 (degrees, longitude first) or 25832 (metres)
--   repairable  whether one that is not valid is repaired; false where too many of its lines cross, because that can't be ended
-- returns    multipolygon, EPSG:25832 (metres), made valid
-- errors     PROJK the coordinates are none of this system; GBIET outside the window in which UTM zone 32 means anything;
--            GRENZ no polygon with an area
create or replace function private.to_boundary(geojson text, srid integer, repairable boolean)
  returns public.geometry
  language plpgsql
  stable
as $$
declare
  v_boundary public.geometry;
begin
  v_boundary := public.st_setsrid(public.st_force2d(public.st_geomfromgeojson(geojson)), to_boundary.srid);
  if coalesce(public.st_dimension(v_boundary), 0) < 2 or public.st_isempty(v_boundary) then
    raise exception 'boundary is no polygon' using errcode = 'GRENZ';
  end if;
  -- Degrees that are called metres would be a spot in the Atlantic.
  if (to_boundary.srid = 4326) <> private.is_degrees(v_boundary) then
    raise exception 'coordinates do not fit EPSG:%', to_boundary.srid using errcode = 'PROJK';
  end if;
  if to_boundary.srid = 4326 and not private.is_near_utm32(v_boundary) then
    raise exception 'boundary is far outside' using errcode = 'GBIET';
  end if;
  v_boundary := public.st_transform(v_boundary, 25832);
  if not public.st_isvalid(v_boundary) then
    if not repairable then
      raise exception 'boundary is too knotted to be repaired' using errcode = 'GRENZ';
    end if;
    v_boundary := public.st_makevalid(v_boundary);
  end if;
  v_boundary := public.st_multi(public.st_collectionextract(v_boundary, 3));
  if public.st_area(v_boundary) = 0 then
    raise exception 'boundary has no area' using errcode = 'GRENZ';
  end if;
  return v_boundary;
exception
  -- PostGIS says so of what is no geometry, and of rings that are not closed.
  when internal_error or data_exception then
    raise exception 'boundary is no geometry: %', sqlerrm using errcode = 'GRENZ';
end
$$;

-- The boundary whose degrees are those of this one the other way round.
--   boundary  EPSG:25832
-- returns     EPSG:25832; null where there is none near UTM zone 32
create or replace function private.flip_degrees(boundary public.geometry)
  returns public.geometry
  language plpgsql
  stable
as $$
declare
  v_flipped constant public.geometry := public.st_flipcoordinates(public.st_transform(boundary, 4326));
begin
  return case when private.is_near_utm32(v_flipped) then public.st_transform(v_flipped, 25832) end;
end
$$;

-- Whether UTM zone 32 means anything for all of a geometry.
--   geometry  EPSG:4326
create or replace function private.is_near_utm32(geometry public.geometry)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select public.st_xmin(geometry) >= -51 and public.st_xmax(geometry) <= 69
    and public.st_ymin(geometry) >= -89 and public.st_ymax(geometry) <= 89
$$;

-- Whether coordinates can be longitude and latitude.
create or replace function private.is_degrees(geometry public.geometry)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select public.st_xmin(geometry) >= -180 and public.st_xmax(geometry) <= 180
    and public.st_ymin(geometry) >= -90 and public.st_ymax(geometry) <= 90
$$;

-- How outputs show a geometry: in the system that was asked for, its axes in the order of that system, rounded to a centimetre.
--   geometry     EPSG:25832
--   srid         25832, 4326, 3857 or 3035
--   north_first  northing or latitude comes first (EPSG:4326 and 3035)
-- returns        GeoJSON geometry; rings of polygons turn left where the axes are east and north (RFC 7946)
create or replace function ausgabe.to_geojson(geometry public.geometry, srid integer, north_first boolean)
  returns text
  language sql
  stable
  parallel safe
as $$
  -- Axes are swapped by a matrix, so that the geometry is named once: else the planner calls this function for each row.
  select public.st_asgeojson(
    public.st_affine(
      public.st_forcepolygonccw(public.st_transform(geometry, srid)), 1 - north_first::integer, north_first::integer,
      north_first::integer, 1 - north_first::integer, 0, 0),
    case srid when 4326 then 7 else 2 end, 0)
$$;
comment on function ausgabe.to_geojson(public.geometry, integer, boolean) is
  'Geometry in EPSG:25832 as GeoJSON in another system, rounded to a centimetre';

-- The same for a point, in a third of the steps where its axes stay in their order.
create or replace function ausgabe.to_geojson_point(place public.geometry, srid integer, north_first boolean)
  returns text
  language sql
  stable
  parallel safe
as $$
  select case
    when north_first then ausgabe.to_geojson(place, srid, true)
    else public.st_asgeojson(public.st_transform(place, srid), case srid when 4326 then 7 else 2 end, 0) end
$$;
comment on function ausgabe.to_geojson_point(public.geometry, integer, boolean) is
  'Point in EPSG:25832 as GeoJSON in another system, rounded to a centimetre';

-- The same geometry as degrees of EPSG:4326, longitude first.
--   geometry  EPSG:25832
create or replace function ausgabe.to_lonlat(geometry public.geometry)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select public.st_transform(geometry, 4326)
$$;
comment on function ausgabe.to_lonlat(public.geometry) is 'Geometry in EPSG:25832 as degrees of EPSG:4326, longitude first';

-- The same geometry as web maps show it.
--   geometry  EPSG:25832
-- returns       EPSG:3857
create or replace function ausgabe.to_map_polygon(geometry public.geometry)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select public.st_transform(geometry, 3857)
$$;
comment on function ausgabe.to_map_polygon(public.geometry) is 'Geometry in EPSG:25832 as web maps show it, EPSG:3857';

-- A box of any system as it lies in ours. Its edges are no straight lines there: over 100 km they leave them by 200 m, so that they
-- are cut into pieces. What is more than 60 degrees from the central meridian of UTM zone 32 is left out: nothing lies there, and
-- ST_Transform fails for it.
--   box   left, bottom, right, top: easting or longitude first
--   srid  25832, 4326, 3857 or 3035
-- returns  polygon, line or point, EPSG:25832; null where nothing is left
create or replace function ausgabe.to_area(box float8[], srid integer)
  returns public.geometry
  language plpgsql
  stable
  parallel safe
as $$
declare
  v_window constant float8[] := case srid
    when 4326 then array[-51, -85, 69, 85]
    when 3857 then array[-5.6e6, -1.9e7, 7.6e6, 1.9e7]
    when 3035 then array[1e6, 0, 8e6, 7e6]
    else array[-1e9, -1e9, 1e9, 1e9] end;
  v_x1 constant float8 := greatest(box[1], v_window[1]);
  v_y1 constant float8 := greatest(box[2], v_window[2]);
  v_x2 constant float8 := least(box[3], v_window[3]);
  v_y2 constant float8 := least(box[4], v_window[4]);
  v_box public.geometry;
begin
  if v_x1 > v_x2 or v_y1 > v_y2 then
    return null;
  end if;
  v_box := ausgabe.to_envelope(array[v_x1, v_y1, v_x2, v_y2], srid);
  if srid = 25832 or public.st_dimension(v_box) = 0 then
    return public.st_transform(v_box, 25832);
  end if;
  return public.st_transform(public.st_segmentize(v_box, greatest(v_x2 - v_x1, v_y2 - v_y1) / 64), 25832);
end
$$;
comment on function ausgabe.to_area(float8[], integer) is 'Box of another system as an area in EPSG:25832';

-- The box itself, in its own system: a polygon; a line or a point where it has no width.
create or replace function ausgabe.to_envelope(box float8[], srid integer)
  returns public.geometry
  language sql
  stable
  parallel safe
as $$
  select public.st_setsrid(public.st_envelope(public.st_makeline(
    public.st_makepoint(box[1], box[2]), public.st_makepoint(box[3], box[4]))), srid)
$$;
comment on function ausgabe.to_envelope(float8[], integer) is 'Box as a geometry of its own system';

-- Whether what is shown of a record meets a box: its place, compared in the system of the box, or the square of its cell.
--   place         as it is shown, EPSG:25832
--   unschaerfe_m  more than 0: place is the centre of a cell
--   envelope      ausgabe.to_envelope of the box
--   area          ausgabe.to_area of the box
create or replace function ausgabe.is_shown_in(
    place public.geometry, unschaerfe_m integer, envelope public.geometry, area public.geometry)
  returns boolean
  language sql
  stable
  parallel safe
as $$
  select case when unschaerfe_m > 0 then public.st_intersects(ausgabe.to_cell_polygon(place), area)
    else public.st_intersects(public.st_transform(place, public.st_srid(envelope)), envelope) end
$$;
comment on function ausgabe.is_shown_in(public.geometry, integer, public.geometry, public.geometry) is
  'Whether the shown place or square of a record meets a box';

-- The box in degrees around an area.
--   area   EPSG:25832; null gives null
-- returns  west, south, east, north
create or replace function ausgabe.to_degrees(area public.geometry)
  returns float8[]
  language sql
  stable
  parallel safe
as $$
  select array[public.st_xmin(d.g), public.st_ymin(d.g), public.st_xmax(d.g), public.st_ymax(d.g)]
  from (select public.st_transform(public.st_segmentize(area, 10000), 4326)) d (g)
  where d.g is not null
$$;
comment on function ausgabe.to_degrees(public.geometry) is 'Box in degrees around an area in EPSG:25832: west, south, east, north';
