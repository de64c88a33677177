-- The 5 km grid in EPSG:25832 (D4). The only home of snapping.

-- The index of the cell that holds a coordinate, along one axis.
--   coordinate  easting or northing, EPSG:25832 (metres)
-- returns       floor(coordinate / 5000); half-open, so a border point has one cell; also for negative coordinates
-- example       private.to_cell(404552)  ->  80
create or replace function private.to_cell(coordinate float8)
  returns integer
  language sql
  immutable
  parallel safe
as $$
  -- The smallest numbers would underflow in the division.
  select case when abs(coordinate) < 1 then -(coordinate < 0)::integer else floor(coordinate / 5000)::integer end
$$;

-- The centre of a cell, the only place that readers of a protected record see.
--   cell_x, cell_y  indices of the cell, from private.to_cell
-- returns           point, EPSG:25832 (metres)
-- example           private.to_raster_point(80, 1096)  ->  POINT(402500 5482500)
create or replace function private.to_raster_point(cell_x integer, cell_y integer)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select public.st_setsrid(public.st_makepoint(cell_x * 5000.0 + 2500, cell_y * 5000.0 + 2500), 25832)
$$;

-- The square of a cell.
--   cell_x, cell_y  indices of the cell, from private.to_cell
-- returns           polygon, EPSG:25832 (metres)
-- example           private.to_cell_polygon(80, 1096)  ->  POLYGON((400000 5480000, 400000 5485000, …))
create or replace function private.to_cell_polygon(cell_x integer, cell_y integer)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select public.st_makeenvelope(cell_x * 5000.0, cell_y * 5000.0, cell_x * 5000.0 + 5000, cell_y * 5000.0 + 5000, 25832)
$$;

-- How far a place is from the square of a cell.
--   x, y     easting and northing, EPSG:25832 (metres)
-- returns    metres, 0 inside
create or replace function private.to_cell_distance(cell_x integer, cell_y integer, x float8, y float8)
  returns float8
  language sql
  immutable
  parallel safe
as $$
  select sqrt(greatest(5000.0 * cell_x - x, 0, x - 5000.0 * (cell_x + 1)) ^ 2 + greatest(5000.0 * cell_y - y, 0, y - 5000.0 * (cell_y + 1)) ^ 2)
$$;

-- A box so wide that it holds the true places and the centres of cells of whatever is shown inside: one is at most half a cell from
-- the other. And half a metre, because indexes keep boxes as 32-bit floats.
--   box  EPSG:25832 (metres)
create or replace function private.to_wide_box(box public.geometry)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select public.st_expand(box, 2500.5)
$$;

-- How far a record's true place may be from the one that is shown.
--   masked  the centre of its cell is shown
-- returns   metres: half the diagonal of a cell, rounded up (2500 m times the root of 2 = 3535.53), or 0
create or replace function private.to_unschaerfe(masked boolean)
  returns integer
  language sql
  immutable
  parallel safe
as $$
  select case when masked then 3536 else 0 end
$$;

-- Completes the cells of the service area. Cells are never removed: an area that shrinks leaves its records where they are.
create or replace function private.installation_after_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.raster_zelle (cell_x, cell_y, cell)
  select x.i, y.i, private.to_cell_polygon(x.i, y.i)
  from portal.installation a,
    pg_catalog.generate_series(private.to_cell(a.x_min), private.to_cell(a.x_max)) x (i),
    pg_catalog.generate_series(private.to_cell(a.y_min), private.to_cell(a.y_max)) y (i)
  where not exists (select from portal.raster_zelle z where z.cell_x = x.i and z.cell_y = y.i)
  on conflict do nothing;
  return null;
end
$$;

-- The cells that a geometry's box touches, a metre around it included: to the tables by cell what `&&` is to an index.
--   geometry  EPSG:25832 (metres), not empty
-- returns     indices of cells
-- example     private.list_cell_of_box(ST_MakeEnvelope(400000, 5480100, 404000, 5484000, 25832))  ->  (79, 1096), (80, 1096)
create or replace function private.list_cell_of_box(geometry public.geometry)
  returns table (cell_x integer, cell_y integer)
  language plpgsql
  immutable
  parallel safe
  -- A plan for the thousands of rows that generate_series is taken for would read the whole table of sightings.
  rows 4
as $$
begin
  return query
  select x.i, y.i
  from pg_catalog.generate_series(private.to_cell(public.st_xmin(geometry) - 1), private.to_cell(public.st_xmax(geometry) + 1)) x (i),
    pg_catalog.generate_series(private.to_cell(public.st_ymin(geometry) - 1), private.to_cell(public.st_ymax(geometry) + 1)) y (i);
end
$$;

-- The same for outputs, which run as a role that may call nothing of private.
create or replace function ausgabe.to_cell(coordinate float8)
  returns integer
  language sql
  immutable
  parallel safe
as $$
  select floor(coordinate / 5000)::integer
$$;
comment on function ausgabe.to_cell(float8) is 'Index of the 5 km cell that holds a coordinate of EPSG:25832, along one axis';

-- The square of the cell whose centre is shown instead of a true place.
--   place  centre of a cell, EPSG:25832 (metres)
create or replace function ausgabe.to_cell_polygon(place public.geometry)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select public.st_expand(place, 2500)
$$;
comment on function ausgabe.to_cell_polygon(public.geometry) is 'Square of the 5 km cell with this centre, EPSG:25832';

-- Cells as one area.
--   margin  metres around them
-- returns     polygon, EPSG:25832 (metres)
create or replace function ausgabe.to_cells(x_from integer, x_to integer, y_from integer, y_to integer, margin float8)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select public.st_makeenvelope(
    x_from * 5000.0 - margin, y_from * 5000.0 - margin, (x_to + 1) * 5000.0 + margin, (y_to + 1) * 5000.0 + margin, 25832)
$$;
comment on function ausgabe.to_cells(integer, integer, integer, integer, float8) is 'Area of neighbouring cells of the 5 km grid and a margin around it';

-- The western side of a column of cells, from far south to far north.
-- returns  line, EPSG:25832 (metres)
create or replace function ausgabe.to_meridian(x integer)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select public.st_setsrid(public.st_makeline(public.st_makepoint(x * 5000.0, -1e9), public.st_makepoint(x * 5000.0, 1e9)), 25832)
$$;
comment on function ausgabe.to_meridian(integer) is 'Western side of a column of the 5 km grid';
