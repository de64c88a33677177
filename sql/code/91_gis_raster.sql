-- Counts by the grids of other systems, for analysts: European squares, sheets and quadrants of the TK25 (O2.1, O2.2).

-- Squares of the European reference grid. Here and below of the shown place only: a square of the true place, cut with the 5 km cell,
-- would narrow it (O0.4). `offset 0` so that a row is projected once, and not wherever its coordinates are named.
create or replace view gis.raster_eea10 as
select q.code || '/' || q.art || '/' || q.jahr as id, q.code, q.art, a.name_deutsch,
  a.name_wissenschaftlich, a.gid, r.name_deutsch as artengruppe, q.jahr, q.meldungen, q.individuen,
  st_transform(st_makeenvelope(q.e * 10000, q.n * 10000, q.e * 10000 + 10000, q.n * 10000 + 10000, 3035), 25832)::geometry(Polygon, 25832)
    as cell
from (
  select '10kmE' || k.e || 'N' || k.n as code, k.e, k.n, g.art, g.jahr, count(*) as meldungen, sum(g.anzahl) as individuen
  from portal.sichtbeobachtung_gezeigt g
  cross join lateral (select st_transform(g.place, 3035) as p offset 0) t
  cross join lateral (select floor(st_x(t.p) / 10000)::integer as e, floor(st_y(t.p) / 10000)::integer as n offset 0) k
  group by k.e, k.n, g.art, g.jahr
) q
left join portal.art a on a.id = q.art
left join portal.artengruppe r on r.id = a.gid;

comment on view gis.raster_eea10 is
  'Public released sightings counted per 10 km square of the European reference grid, species and year, each at the place that everyone may see';
comment on column gis.raster_eea10.id is 'code/art/jahr: names the row, for programs that need a key of one column';
comment on column gis.raster_eea10.code is
  'Square of the reference grid, 10kmE432N312: hundreds of kilometres, tens and kilometres of its south-western corner in EPSG:3035';
comment on column gis.raster_eea10.art is 'Species, gis.art.id';
comment on column gis.raster_eea10.name_deutsch is 'General German name of the species, null where it has none';
comment on column gis.raster_eea10.name_wissenschaftlich is 'General scientific name of the species';
comment on column gis.raster_eea10.gid is 'Species group';
comment on column gis.raster_eea10.artengruppe is 'German name of the species group';
comment on column gis.raster_eea10.jahr is 'Year of the sightings';
comment on column gis.raster_eea10.meldungen is 'Number of sightings';
comment on column gis.raster_eea10.individuen is 'Number of individuals: the sum of their anzahl';
comment on column gis.raster_eea10.cell is 'Square of the cell in EPSG:3035, as a polygon in EPSG:25832 (metres)';

-- Quadrants of the TK25 (10 by 6 minutes in DHDN, sheet 0101 from 5 degrees 50 minutes east and 55.9 degrees north). The datum by its
-- seven parameters, as PROJ does by +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7: by the number of the system, PROJ
-- takes whatever grid it finds; and by that text PostGIS reads the definition anew for each row (0.9 ms instead of 0.02). The two
-- differ by 3 micrometres. A place within a centimetre of a northern or western edge lies in that sheet: reports are rounded to
-- centimetres, and there and back these parameters are off by a millimetre; neither must decide.
create or replace view gis.raster_mtbq as
select q.code || '/' || q.art || '/' || q.jahr as id, q.code, q.art, a.name_deutsch,
  a.name_wissenschaftlich, a.gid, r.name_deutsch as artengruppe, q.jahr, q.meldungen, q.individuen,
  (
    select st_transform(st_setsrid(st_makepolygon(st_makeline(st_makepoint(degrees(c.l), degrees(c.b)) order by c.n)), 4326), 25832)
    from (
      select r.n, atan2(g.y, g.x) as l,
        atan2(g.z + 0.006739496742276 * 6356752.314245 * sin(t.t) ^ 3, t.p - 0.0066943799901413 * 6378137 * cos(t.t) ^ 3) as b
      from (values (1, 0, 0), (2, 1, 0), (3, 1, 1), (4, 0, 1), (5, 0, 0)) r (n, e, s)
      cross join lateral (
        select radians((35 + (q.i + r.e) * 0.5) / 6.0) as l, radians((560 - (q.j + r.s) * 0.5) / 10.0) as b offset 0) d
      cross join lateral (select 6377397.155 / sqrt(1 - 0.006674372230614 * sin(d.b) ^ 2) as n offset 0) k
      cross join lateral (
        select k.n * cos(d.b) * cos(d.l) as x, k.n * cos(d.b) * sin(d.l) as y, k.n * (1 - 0.006674372230614) * sin(d.b) as z offset 0) h
      cross join lateral (
        select (1 + 6.7e-6) * (h.x + radians(2.455 / 3600) * h.y + radians(0.045 / 3600) * h.z) + 598.1 as x,
          (1 + 6.7e-6) * (h.y - radians(2.455 / 3600) * h.x - radians(0.202 / 3600) * h.z) + 73.7 as y,
          (1 + 6.7e-6) * (h.z - radians(0.045 / 3600) * h.x + radians(0.202 / 3600) * h.y) + 418.2 as z offset 0) g
      cross join lateral (
        select sqrt(g.x ^ 2 + g.y ^ 2) as p, atan2(g.z * 6378137, sqrt(g.x ^ 2 + g.y ^ 2) * 6356752.314245) as t offset 0) t) c
    )::geometry(Polygon, 25832) as cell
from (
  select lpad((k.j / 2)::text, 2, '0') || lpad((k.i / 2 + 1)::text, 2, '0') || '/' || 1 + k.i % 2 + k.j % 2 * 2 as code, k.i, k.j,
    g.art, g.jahr, count(*) as meldungen, sum(g.anzahl) as individuen
  from portal.sichtbeobachtung_gezeigt g
  cross join lateral (select st_transform(g.place, 4326) as p offset 0) w
  cross join lateral (select radians(st_x(w.p)) as l, radians(st_y(w.p)) as b offset 0) d
  cross join lateral (select 6378137 / sqrt(1 - 0.0066943799901413 * sin(d.b) ^ 2) as n offset 0) v
  cross join lateral (
    select (v.n * cos(d.b) * cos(d.l) - 598.1) / (1 + 6.7e-6) as x, (v.n * cos(d.b) * sin(d.l) - 73.7) / (1 + 6.7e-6) as y,
      (v.n * (1 - 0.0066943799901413) * sin(d.b) - 418.2) / (1 + 6.7e-6) as z offset 0) h
  cross join lateral (
    select h.x - radians(2.455 / 3600) * h.y - radians(0.045 / 3600) * h.z as x,
      h.y + radians(2.455 / 3600) * h.x + radians(0.202 / 3600) * h.z as y,
      h.z + radians(0.045 / 3600) * h.x - radians(0.202 / 3600) * h.y as z offset 0) c
  cross join lateral (
    select sqrt(c.x ^ 2 + c.y ^ 2) as p, atan2(c.z * 6377397.155, sqrt(c.x ^ 2 + c.y ^ 2) * 6356078.962818) as t offset 0) t
  cross join lateral (
    select floor(2 * (degrees(atan2(c.y, c.x)) * 6 - 35 + 1e-6))::integer as i,
      floor(2 * (560 + 1e-6 - 10 * degrees(atan2(
        c.z + 0.006719218798677 * 6356078.962818 * sin(t.t) ^ 3, t.p - 0.006674372230614 * 6377397.155 * cos(t.t) ^ 3))))::integer as j
    offset 0) k
  -- Rows and columns 01 to 99: beyond them there is no sheet.
  where k.i between 0 and 197 and k.j between 2 and 199
  group by k.i, k.j, g.art, g.jahr
) q
left join portal.art a on a.id = q.art
left join portal.artengruppe r on r.id = a.gid;

comment on view gis.raster_mtbq is
  'Public released sightings counted per quadrant of a TK25 sheet, species and year, each at the place that everyone may see';
comment on column gis.raster_mtbq.id is 'code/art/jahr: names the row, for programs that need a key of one column';
comment on column gis.raster_mtbq.code is
  'Sheet and quadrant, 6517/3: 1 north-west, 2 north-east, 3 south-west, 4 south-east';
comment on column gis.raster_mtbq.art is 'Species, gis.art.id';
comment on column gis.raster_mtbq.name_deutsch is 'General German name of the species, null where it has none';
comment on column gis.raster_mtbq.name_wissenschaftlich is 'General scientific name of the species';
comment on column gis.raster_mtbq.gid is 'Species group';
comment on column gis.raster_mtbq.artengruppe is 'German name of the species group';
comment on column gis.raster_mtbq.jahr is 'Year of the sightings';
comment on column gis.raster_mtbq.meldungen is 'Number of sightings';
comment on column gis.raster_mtbq.individuen is 'Number of individuals: the sum of their anzahl';
comment on column gis.raster_mtbq.cell is 'Quadrant (5 by 3 minutes in DHDN), polygon in EPSG:25832 (metres)';

-- The sheets, from their quadrants.
create or replace view gis.raster_mtb as
select q.code || '/' || q.art || '/' || q.jahr as id, q.code, q.art, q.name_deutsch, q.name_wissenschaftlich, q.gid, q.artengruppe, q.jahr,
  q.meldungen, q.individuen,
  (
    select st_transform(st_setsrid(st_makepolygon(st_makeline(st_makepoint(degrees(c.l), degrees(c.b)) order by c.n)), 4326), 25832)
    from (
      select r.n, atan2(g.y, g.x) as l,
        atan2(g.z + 0.006739496742276 * 6356752.314245 * sin(t.t) ^ 3, t.p - 0.0066943799901413 * 6378137 * cos(t.t) ^ 3) as b
      from (values (1, 0, 0), (2, 1, 0), (3, 1, 1), (4, 0, 1), (5, 0, 0)) r (n, e, s)
      cross join lateral (
        select radians((35 + (q.i + r.e) * 1.0) / 6.0) as l, radians((560 - (q.j + r.s) * 1.0) / 10.0) as b offset 0) d
      cross join lateral (select 6377397.155 / sqrt(1 - 0.006674372230614 * sin(d.b) ^ 2) as n offset 0) k
      cross join lateral (
        select k.n * cos(d.b) * cos(d.l) as x, k.n * cos(d.b) * sin(d.l) as y, k.n * (1 - 0.006674372230614) * sin(d.b) as z offset 0) h
      cross join lateral (
        select (1 + 6.7e-6) * (h.x + radians(2.455 / 3600) * h.y + radians(0.045 / 3600) * h.z) + 598.1 as x,
          (1 + 6.7e-6) * (h.y - radians(2.455 / 3600) * h.x - radians(0.202 / 3600) * h.z) + 73.7 as y,
          (1 + 6.7e-6) * (h.z - radians(0.045 / 3600) * h.x + radians(0.202 / 3600) * h.y) + 418.2 as z offset 0) g
      cross join lateral (
        select sqrt(g.x ^ 2 + g.y ^ 2) as p, atan2(g.z * 6378137, sqrt(g.x ^ 2 + g.y ^ 2) * 6356752.314245) as t offset 0) t) c
    )::geometry(Polygon, 25832) as cell
from (
  select left(v.code, 4) as code, substr(v.code, 3, 2)::integer - 1 as i, left(v.code, 2)::integer as j,
    v.art, v.name_deutsch, v.name_wissenschaftlich, v.gid, v.artengruppe, v.jahr,
    sum(v.meldungen)::bigint as meldungen, sum(v.individuen)::bigint as individuen
  from gis.raster_mtbq v
  group by left(v.code, 4), substr(v.code, 3, 2), left(v.code, 2), v.art, v.name_deutsch, v.name_wissenschaftlich, v.gid, v.artengruppe, v.jahr
) q;

comment on view gis.raster_mtb is
  'Public released sightings counted per sheet of the TK25 map, species and year, each at the place that everyone may see';
comment on column gis.raster_mtb.id is 'code/art/jahr: names the row, for programs that need a key of one column';
comment on column gis.raster_mtb.code is
  'Number of the sheet, row and column: 6517; its northern and its western edge belong to it';
comment on column gis.raster_mtb.art is 'Species, gis.art.id';
comment on column gis.raster_mtb.name_deutsch is 'General German name of the species, null where it has none';
comment on column gis.raster_mtb.name_wissenschaftlich is 'General scientific name of the species';
comment on column gis.raster_mtb.gid is 'Species group';
comment on column gis.raster_mtb.artengruppe is 'German name of the species group';
comment on column gis.raster_mtb.jahr is 'Year of the sightings';
comment on column gis.raster_mtb.meldungen is 'Number of sightings';
comment on column gis.raster_mtb.individuen is 'Number of individuals: the sum of their anzahl';
comment on column gis.raster_mtb.cell is 'Sheet (10 by 6 minutes in DHDN), polygon in EPSG:25832 (metres)';
