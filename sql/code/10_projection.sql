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
