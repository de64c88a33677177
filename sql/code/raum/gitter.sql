-- Squares of other grids (O2.1, O2.2): the 10 km squares of the European reference grid (EPSG:3035), sheets and quadrants of the TK25
-- (DHDN, EPSG:4314). What lies in which of them is told by the shown place only, and kept with it (gis/gezeigt.sql).

-- DHDN by seven parameters in plain arithmetic, as PROJ does by
-- +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7 (O2.1): by the number of the system PROJ takes whatever grid it finds on
-- a server; and by that text PostGIS 3.3 reads the definition anew for each row, 0.9 ms instead of 0.02. The two differ by 3
-- micrometres. Ellipsoids: 6378137 and 6356752.314245 (WGS 84), 6377397.155 and 6356078.962818 (Bessel), metres.
--   place   point, EPSG:25832
-- returns   longitude and latitude, degrees
create or replace function private.to_dhdn(place public.geometry)
  returns float8[]
  language plpgsql
  immutable
  parallel safe
as $$
declare
  v_point constant public.geometry := public.st_transform(place, 4326);
  v_l constant float8 := radians(public.st_x(v_point));
  v_b constant float8 := radians(public.st_y(v_point));
  v_normal constant float8 := 6378137 / sqrt(1 - 0.0066943799901413 * sin(v_b) ^ 2);
  v_x constant float8 := (v_normal * cos(v_b) * cos(v_l) - 598.1) / (1 + 6.7e-6);
  v_y constant float8 := (v_normal * cos(v_b) * sin(v_l) - 73.7) / (1 + 6.7e-6);
  v_z constant float8 := (v_normal * (1 - 0.0066943799901413) * sin(v_b) - 418.2) / (1 + 6.7e-6);
  v_rotated_x constant float8 := v_x - radians(2.455 / 3600) * v_y - radians(0.045 / 3600) * v_z;
  v_rotated_y constant float8 := v_y + radians(2.455 / 3600) * v_x + radians(0.202 / 3600) * v_z;
  v_rotated_z constant float8 := v_z + radians(0.045 / 3600) * v_x - radians(0.202 / 3600) * v_y;
  v_from_axis constant float8 := sqrt(v_rotated_x ^ 2 + v_rotated_y ^ 2);
  v_reduced constant float8 := atan2(v_rotated_z * 6377397.155, v_from_axis * 6356078.962818);
begin
  return array[
    degrees(atan2(v_rotated_y, v_rotated_x)),
    degrees(atan2(
      v_rotated_z + 0.006719218798677 * 6356078.962818 * sin(v_reduced) ^ 3,
      v_from_axis - 0.006674372230614 * 6377397.155 * cos(v_reduced) ^ 3))];
end
$$;

-- The way back.
--   longitude, latitude  DHDN, degrees
-- returns                point, EPSG:25832 (metres)
create or replace function private.from_dhdn(longitude float8, latitude float8)
  returns public.geometry
  language plpgsql
  immutable
  parallel safe
as $$
declare
  v_l constant float8 := radians(longitude);
  v_b constant float8 := radians(latitude);
  v_normal constant float8 := 6377397.155 / sqrt(1 - 0.006674372230614 * sin(v_b) ^ 2);
  v_x constant float8 := v_normal * cos(v_b) * cos(v_l);
  v_y constant float8 := v_normal * cos(v_b) * sin(v_l);
  v_z constant float8 := v_normal * (1 - 0.006674372230614) * sin(v_b);
  v_moved_x constant float8 := (1 + 6.7e-6) * (v_x + radians(2.455 / 3600) * v_y + radians(0.045 / 3600) * v_z) + 598.1;
  v_moved_y constant float8 := (1 + 6.7e-6) * (v_y - radians(2.455 / 3600) * v_x - radians(0.202 / 3600) * v_z) + 73.7;
  v_moved_z constant float8 := (1 + 6.7e-6) * (v_z - radians(0.045 / 3600) * v_x + radians(0.202 / 3600) * v_y) + 418.2;
  v_from_axis constant float8 := sqrt(v_moved_x ^ 2 + v_moved_y ^ 2);
  v_reduced constant float8 := atan2(v_moved_z * 6378137, v_from_axis * 6356752.314245);
begin
  return public.st_transform(
    public.st_setsrid(
      public.st_makepoint(
        degrees(atan2(v_moved_y, v_moved_x)),
        degrees(atan2(
          v_moved_z + 0.006739496742276 * 6356752.314245 * sin(v_reduced) ^ 3,
          v_from_axis - 0.0066943799901413 * 6378137 * cos(v_reduced) ^ 3))),
      4326),
    25832);
end
$$;

-- The European square that holds a place.
--   place    point, EPSG:25832
-- returns    1000 times the column and the row, in 10 km of EPSG:3035
-- example    a place in 10kmE432N312  ->  432312
create or replace function private.to_eea10(place public.geometry)
  returns integer
  language plpgsql
  immutable
  parallel safe
as $$
declare
  v_point constant public.geometry := public.st_transform(place, 3035);
begin
  return floor(public.st_x(v_point) / 10000)::integer * 1000 + floor(public.st_y(v_point) / 10000)::integer;
end
$$;

-- The quadrant of a TK25 sheet that holds a place. Sheets are 10 by 6 minutes in DHDN; number RRCC has its northern edge at 56 degrees
-- less RR tenths, its western edge at 5 degrees 50 minutes and CC - 1 times 10 minutes. Both edges belong to it.
--   place    point, EPSG:25832
-- returns    ten times the number of the sheet, and 1 NW, 2 NE, 3 SW, 4 SE; null where there is no sheet
-- example    a place in 6517/3  ->  65173
create or replace function private.to_tk(place public.geometry)
  returns integer
  language plpgsql
  immutable
  parallel safe
as $$
declare
  v_degrees constant float8[] := private.to_dhdn(place);
  -- Half sheets from the western and the northern edge of the first one. A place within a centimetre of an edge lies in the sheet
  -- behind it: reports are rounded to centimetres, and there and back these parameters are off by a millimetre; neither must decide.
  v_column constant integer := floor(2 * (v_degrees[1] * 6 - 35 + 1e-6));
  v_row constant integer := floor(2 * (560 + 1e-6 - 10 * v_degrees[2]));
begin
  if v_column between 0 and 197 and v_row between 2 and 199 then
    return (v_row / 2 * 100 + v_column / 2 + 1) * 10 + 1 + v_column % 2 + v_row % 2 * 2;
  end if;
  return null;
end
$$;

-- The square of a European number.
--   eea10    from private.to_eea10
-- returns    polygon, EPSG:25832; its sides are straight there, and off by less than 10 m
create or replace function private.to_eea10_polygon(eea10 integer)
  returns public.geometry
  language plpgsql
  immutable
  parallel safe
as $$
declare
  v_e constant integer := eea10 / 1000 * 10000;
  v_n constant integer := eea10 % 1000 * 10000;
begin
  return public.st_transform(public.st_makeenvelope(v_e, v_n, v_e + 10000, v_n + 10000, 3035), 25832);
end
$$;

-- The area of a sheet or of a quadrant.
--   blatt      number of the sheet, RRCC
--   quadrant   1 to 4, or null for the whole sheet
-- returns      polygon, EPSG:25832
create or replace function private.to_tk_polygon(blatt integer, quadrant integer)
  returns public.geometry
  language plpgsql
  immutable
  parallel safe
as $$
declare
  v_size constant numeric := case when quadrant is null then 1 else 0.5 end;
  v_west constant float8 := (35 + blatt % 100 - 1 + coalesce((quadrant - 1) % 2, 0) * 0.5) / 6.0;
  v_north constant float8 := (560 - blatt / 100 - coalesce((quadrant - 1) / 2, 0) * 0.5) / 10.0;
  v_east constant float8 := v_west + v_size / 6.0;
  v_south constant float8 := v_north - v_size / 10.0;
begin
  -- The aggregate: of what takes arrays the owner may have nothing (gis/dangers.sql).
  return (
    select public.st_makepolygon(public.st_makeline(private.from_dhdn(c.lon, c.lat) order by c.n))
    from (values
      (1, v_west, v_north), (2, v_east, v_north), (3, v_east, v_south), (4, v_west, v_south), (5, v_west, v_north)) c (n, lon, lat));
end
$$;

-- Keeps the squares that hold these places. A square is the same for ever, so that it is made once.
--   eea10, tk  as in portal.sichtbeobachtung_gezeigt, pairwise
create or replace function private.set_raster_feld(eea10 integer[], tk integer[])
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  -- Nearly always they are there; the sheet of a quadrant then is, too.
  if not exists (
    select
    from unnest(set_raster_feld.eea10, set_raster_feld.tk) u (eea10, tk)
    where not exists (select from portal.raster_feld k where k.gitter = 'eea10' and k.x = u.eea10 / 1000 and k.y = u.eea10 % 1000)
      or u.tk is not null
        and not exists (select from portal.raster_feld k where k.gitter = 'mtbq' and k.x = u.tk / 10 and k.y = u.tk % 10)) then
    return;
  end if;
  insert into portal.raster_feld (gitter, x, y, code, cell)
  select f.gitter, f.x, f.y, f.code,
    case when f.gitter = 'eea10' then private.to_eea10_polygon(f.x * 1000 + f.y)
      when f.gitter = 'mtb' then private.to_tk_polygon(f.x * 100 + f.y, null)
      else private.to_tk_polygon(f.x, f.y) end
  from (
    select 'eea10', e / 1000, e % 1000, pg_catalog.format('10kmE%sN%s', e / 1000, e % 1000)
    from (select distinct pg_catalog.unnest(set_raster_feld.eea10)) u (e)
    union all
    select distinct 'mtb', t / 1000, t / 10 % 100, pg_catalog.lpad((t / 10)::text, 4, '0')
    from (select distinct pg_catalog.unnest(set_raster_feld.tk)) u (t)
    union all
    select 'mtbq', t / 10, t % 10, pg_catalog.lpad((t / 10)::text, 4, '0') || '/' || t % 10
    from (select distinct pg_catalog.unnest(set_raster_feld.tk)) u (t)
  ) f (gitter, x, y, code)
  where f.x is not null
    and not exists (select from portal.raster_feld k where k.gitter = f.gitter and k.x = f.x and k.y = f.y);
end
$$;
