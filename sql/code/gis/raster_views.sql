-- Grids: counts by squares of other systems, for analysts; and, for the outputs, what all grids are counted from (O2.1 to O2.3).
-- Squares are those of the shown place only: one of the true place, cut with the 5 km cell, would narrow it (O0.4).

create or replace view gis.raster_eea10 as
select f.code || '/' || q.art || '/' || q.jahr as id, f.code, q.art, a.name_deutsch,
  a.name_wissenschaftlich, a.gid, r.name_deutsch as artengruppe, q.jahr, q.meldungen, q.individuen, f.cell
from (
  select g.eea10 as feld, g.art, g.jahr, count(*) as meldungen, sum(g.anzahl) as individuen
  from portal.sichtbeobachtung_gezeigt g
  where g.eea10 is not null
  group by g.eea10, g.art, g.jahr
) q
-- One of them: two transactions may both have made the same square.
cross join lateral (
  select k.code, k.cell from portal.raster_feld k where k.gitter = 'eea10' and k.x = q.feld / 1000 and k.y = q.feld % 1000 limit 1) f
left join portal.art a on a.id = q.art
left join portal.artengruppe r on r.id = a.gid;

comment on view gis.raster_eea10 is
  'Public released sightings counted per 10 km square of the European reference grid, species and year, each at the place that everyone may see';
comment on column gis.raster_eea10.id is 'code/art/jahr: names the row, for programs that need a key of one column';
comment on column gis.raster_eea10.code is
  'Square of the reference grid, 10kmE432N312: column and row of its south-western corner, in 10 km of EPSG:3035';
comment on column gis.raster_eea10.art is 'Species, gis.art.id';
comment on column gis.raster_eea10.name_deutsch is 'General German name of the species, null where it has none';
comment on column gis.raster_eea10.name_wissenschaftlich is 'General scientific name of the species';
comment on column gis.raster_eea10.gid is 'Species group';
comment on column gis.raster_eea10.artengruppe is 'German name of the species group';
comment on column gis.raster_eea10.jahr is 'Year of the sightings';
comment on column gis.raster_eea10.meldungen is 'Number of sightings';
comment on column gis.raster_eea10.individuen is 'Number of individuals: the sum of their anzahl';
comment on column gis.raster_eea10.cell is 'Square of the cell in EPSG:3035, as a polygon in EPSG:25832 (metres)';

create or replace view gis.raster_mtbq as
select f.code || '/' || q.art || '/' || q.jahr as id, f.code, q.art, a.name_deutsch,
  a.name_wissenschaftlich, a.gid, r.name_deutsch as artengruppe, q.jahr, q.meldungen, q.individuen, f.cell
from (
  select g.tk as feld, g.art, g.jahr, count(*) as meldungen, sum(g.anzahl) as individuen
  from portal.sichtbeobachtung_gezeigt g
  where g.tk is not null
  group by g.tk, g.art, g.jahr
) q
-- One of them: two transactions may both have made the same square.
cross join lateral (
  select k.code, k.cell from portal.raster_feld k where k.gitter = 'mtbq' and k.x = q.feld / 10 and k.y = q.feld % 10 limit 1) f
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

create or replace view gis.raster_mtb as
select f.code || '/' || q.art || '/' || q.jahr as id, f.code, q.art, a.name_deutsch,
  a.name_wissenschaftlich, a.gid, r.name_deutsch as artengruppe, q.jahr, q.meldungen, q.individuen, f.cell
from (
  select g.tk / 10 as feld, g.art, g.jahr, count(*) as meldungen, sum(g.anzahl) as individuen
  from portal.sichtbeobachtung_gezeigt g
  where g.tk is not null
  group by g.tk / 10, g.art, g.jahr
) q
-- One of them: two transactions may both have made the same square.
cross join lateral (
  select k.code, k.cell from portal.raster_feld k where k.gitter = 'mtb' and k.x = q.feld / 100 and k.y = q.feld % 100 limit 1) f
left join portal.art a on a.id = q.art
left join portal.artengruppe r on r.id = a.gid;

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

create or replace view gis.raster_feld as
select z.cell_x as x, z.cell_y as y, '5km' as gitter, z.cell_x || '/' || z.cell_y as code, z.cell
from portal.raster_zelle z
union all
select f.x, f.y, f.gitter, f.code, f.cell
from portal.raster_feld f
-- Not those that only held what is shown elsewhere by now: a record that became protected was in the squares of its true place.
where case f.gitter
  when 'eea10' then exists (select from portal.sichtbeobachtung_gezeigt g where g.eea10 = f.x * 1000 + f.y)
  when 'mtb' then exists (
    select from portal.sichtbeobachtung_gezeigt g where g.tk between (f.x * 100 + f.y) * 10 + 1 and (f.x * 100 + f.y) * 10 + 4)
  else exists (select from portal.sichtbeobachtung_gezeigt g where g.tk = f.x * 10 + f.y)
end;

comment on view gis.raster_feld is
  'Squares of the grids: all 5 km cells of the service area, and those of other grids that hold a sighting; a square may be there twice';
comment on column gis.raster_feld.x is '5km: cell_x; eea10: column in 10 km; mtb: row of the sheet; mtbq: number of the sheet';
comment on column gis.raster_feld.y is '5km: cell_y; eea10: row in 10 km; mtb: column of the sheet; mtbq: quadrant';
comment on column gis.raster_feld.gitter is '5km, eea10, mtb or mtbq';
comment on column gis.raster_feld.code is 'As code of the view of this grid; cell_x/cell_y of the 5 km grid';
comment on column gis.raster_feld.cell is 'Polygon in EPSG:25832 (metres)';

-- As gis.raster_zahl, without the counts: where to look, for what is counted with a filter.
create or replace view gis.raster_besetzt as
with offen as (
  select distinct f.gitter, f.x, f.y
  from portal.raster_offen o
  cross join lateral (
    values ('5km', o.cell_x, o.cell_y), ('eea10', o.eea10 / 1000, o.eea10 % 1000), ('mtb', o.tk / 1000, o.tk / 10 % 100),
      ('mtbq', o.tk / 10, o.tk % 10)) f (gitter, x, y)
  where f.x is not null
)
select k.gitter, k.x, k.y
from portal.raster_zahl k
where (k.gitter, k.x, k.y) not in (select o.gitter, o.x, o.y from offen o)
union all
select o.gitter, o.x, o.y
from offen o
where case o.gitter
  when '5km' then exists (select from portal.sichtbeobachtung_gezeigt g where g.cell_x = o.x and g.cell_y = o.y)
  when 'eea10' then exists (select from portal.sichtbeobachtung_gezeigt g where g.eea10 = o.x * 1000 + o.y)
  when 'mtb' then exists (
    select from portal.sichtbeobachtung_gezeigt g where g.tk between (o.x * 100 + o.y) * 10 + 1 and (o.x * 100 + o.y) * 10 + 4)
  else exists (select from portal.sichtbeobachtung_gezeigt g where g.tk = o.x * 10 + o.y)
end;

comment on view gis.raster_besetzt is
  'Squares of each grid that hold a sighting';
comment on column gis.raster_besetzt.gitter is '5km, eea10, mtb or mtbq';
comment on column gis.raster_besetzt.x is 'As in gis.raster_feld';
comment on column gis.raster_besetzt.y is 'As in gis.raster_feld';

create or replace view gis.sichtbeobachtung_raster as
select g.id, g.art, g.datum, g.unschaerfe_m, g.cell_x, g.cell_y, g.eea10, g.tk, g.stadium_id, g.place, g.ctid as zeile
from portal.sichtbeobachtung_gezeigt g
cross join (select) nichts;

comment on view gis.sichtbeobachtung_raster is 'In which square of each grid the shown place of a sighting lies; narrow, to count by';
comment on column gis.sichtbeobachtung_raster.id is 'Number of the sighting, gis.sichtbeobachtung.id';
comment on column gis.sichtbeobachtung_raster.art is 'Species, gis.art.id';
comment on column gis.sichtbeobachtung_raster.datum is 'Day of the sighting';
comment on column gis.sichtbeobachtung_raster.unschaerfe_m is 'As in gis.sichtbeobachtung';
comment on column gis.sichtbeobachtung_raster.cell_x is 'Column of the 5 km grid';
comment on column gis.sichtbeobachtung_raster.cell_y is 'Row of the 5 km grid';
comment on column gis.sichtbeobachtung_raster.eea10 is 'Square of the European grid: 1000 times its column and its row in 10 km, 432312 for 10kmE432N312';
comment on column gis.sichtbeobachtung_raster.tk is 'Quadrant of the TK25: ten times the number of the sheet and the quadrant, 65173 for 6517/3; null outside';
comment on column gis.sichtbeobachtung_raster.stadium_id is 'Developmental stage, if reported: gis.stadium.id';
comment on column gis.sichtbeobachtung_raster.place is 'The place that everyone may see, point in EPSG:25832 (metres)';
comment on column gis.sichtbeobachtung_raster.zeile is 'As in gis.sichtbeobachtung';

-- Squares in which something changed since they were counted are counted here and now (gis/raster_zahl.sql): those with few records first,
-- up to so many records in all. Beyond it the counts are those of some seconds ago, of squares that still hold something: whoever changed
-- one record in each had every reader count all records there are (2.5 s at three million).
-- `not in`, because that is hashed in any case: for `not exists`, a plan made while nothing is named goes through all that is named for
-- each square, and is kept (8 s of 19 000 squares while one account's 6 000 records were erased).
create or replace view gis.raster_zahl as
with hier as (select 100000 as meldungen)
select k.gitter, k.x, k.y, k.meldungen, k.arten, k.verschleiert, k.erstes_jahr, k.letztes_jahr, k.artenmenge, false as ist_neu
from portal.raster_zahl k
where k.gitter = '5km' and (k.x, k.y) not in (select o.cell_x, o.cell_y from portal.raster_offen o)
union all
select '5km', d.x, d.y, c.meldungen, c.arten, c.verschleiert, c.erstes_jahr, c.letztes_jahr, c.artenmenge, true
from (
  select n.x, n.y, sum(coalesce(k.meldungen, 0)) over (order by coalesce(k.meldungen, 0), n.x, n.y) > h.meldungen as is_viel
  from (select distinct o.cell_x as x, o.cell_y as y from portal.raster_offen o) n
  cross join hier h
  left join portal.raster_zahl k on k.gitter = '5km' and k.x = n.x and k.y = n.y) d
cross join lateral (
  select count(*) as meldungen, count(distinct g.art)::integer as arten, count(*) filter (where g.unschaerfe_m > 0) as verschleiert,
    extract(year from min(g.datum))::integer as erstes_jahr, extract(year from max(g.datum))::integer as letztes_jahr,
    bit_or(set_bit((
      select repeat('0', (max(m.platz) / 256 + 1) * 256)::bit varying from portal.art_platz m), p.platz, 1)) as artenmenge
  from portal.sichtbeobachtung_gezeigt g
  left join portal.art_platz p on p.art = g.art
  where not d.is_viel and g.cell_x = d.x and g.cell_y = d.y
  having count(*) > 0
  union all
  select k.meldungen, k.arten, k.verschleiert, k.erstes_jahr, k.letztes_jahr, k.artenmenge
  from portal.raster_zahl k
  where d.is_viel and k.gitter = '5km' and k.x = d.x and k.y = d.y
    and exists (select from portal.sichtbeobachtung_gezeigt g where g.cell_x = d.x and g.cell_y = d.y)) c
union all
select k.gitter, k.x, k.y, k.meldungen, k.arten, k.verschleiert, k.erstes_jahr, k.letztes_jahr, k.artenmenge, false as ist_neu
from portal.raster_zahl k
where k.gitter = 'eea10' and (k.x, k.y) not in (select o.eea10 / 1000, o.eea10 % 1000 from portal.raster_offen o where o.eea10 is not null)
union all
select 'eea10', d.x, d.y, c.meldungen, c.arten, c.verschleiert, c.erstes_jahr, c.letztes_jahr, c.artenmenge, true
from (
  select n.x, n.y, sum(coalesce(k.meldungen, 0)) over (order by coalesce(k.meldungen, 0), n.x, n.y) > h.meldungen as is_viel
  from (select distinct o.eea10 / 1000 as x, o.eea10 % 1000 as y from portal.raster_offen o where o.eea10 is not null) n
  cross join hier h
  left join portal.raster_zahl k on k.gitter = 'eea10' and k.x = n.x and k.y = n.y) d
cross join lateral (
  select count(*) as meldungen, count(distinct g.art)::integer as arten, count(*) filter (where g.unschaerfe_m > 0) as verschleiert,
    extract(year from min(g.datum))::integer as erstes_jahr, extract(year from max(g.datum))::integer as letztes_jahr,
    null::bit varying as artenmenge
  from portal.sichtbeobachtung_gezeigt g
  where not d.is_viel and g.eea10 = d.x * 1000 + d.y
  having count(*) > 0
  union all
  select k.meldungen, k.arten, k.verschleiert, k.erstes_jahr, k.letztes_jahr, k.artenmenge
  from portal.raster_zahl k
  where d.is_viel and k.gitter = 'eea10' and k.x = d.x and k.y = d.y
    and exists (select from portal.sichtbeobachtung_gezeigt g where g.eea10 = d.x * 1000 + d.y)) c
union all
select k.gitter, k.x, k.y, k.meldungen, k.arten, k.verschleiert, k.erstes_jahr, k.letztes_jahr, k.artenmenge, false as ist_neu
from portal.raster_zahl k
where k.gitter = 'mtb' and (k.x, k.y) not in (select o.tk / 1000, o.tk / 10 % 100 from portal.raster_offen o where o.tk is not null)
union all
select 'mtb', d.x, d.y, c.meldungen, c.arten, c.verschleiert, c.erstes_jahr, c.letztes_jahr, c.artenmenge, true
from (
  select n.x, n.y, sum(coalesce(k.meldungen, 0)) over (order by coalesce(k.meldungen, 0), n.x, n.y) > h.meldungen as is_viel
  from (select distinct o.tk / 1000 as x, o.tk / 10 % 100 as y from portal.raster_offen o where o.tk is not null) n
  cross join hier h
  left join portal.raster_zahl k on k.gitter = 'mtb' and k.x = n.x and k.y = n.y) d
cross join lateral (
  select count(*) as meldungen, count(distinct g.art)::integer as arten, count(*) filter (where g.unschaerfe_m > 0) as verschleiert,
    extract(year from min(g.datum))::integer as erstes_jahr, extract(year from max(g.datum))::integer as letztes_jahr,
    null::bit varying as artenmenge
  from portal.sichtbeobachtung_gezeigt g
  where not d.is_viel and g.tk between (d.x * 100 + d.y) * 10 + 1 and (d.x * 100 + d.y) * 10 + 4
  having count(*) > 0
  union all
  select k.meldungen, k.arten, k.verschleiert, k.erstes_jahr, k.letztes_jahr, k.artenmenge
  from portal.raster_zahl k
  where d.is_viel and k.gitter = 'mtb' and k.x = d.x and k.y = d.y
    and exists (select from portal.sichtbeobachtung_gezeigt g where g.tk between (d.x * 100 + d.y) * 10 + 1 and (d.x * 100 + d.y) * 10 + 4)) c
union all
select k.gitter, k.x, k.y, k.meldungen, k.arten, k.verschleiert, k.erstes_jahr, k.letztes_jahr, k.artenmenge, false as ist_neu
from portal.raster_zahl k
where k.gitter = 'mtbq' and (k.x, k.y) not in (select o.tk / 10, o.tk % 10 from portal.raster_offen o where o.tk is not null)
union all
select 'mtbq', d.x, d.y, c.meldungen, c.arten, c.verschleiert, c.erstes_jahr, c.letztes_jahr, c.artenmenge, true
from (
  select n.x, n.y, sum(coalesce(k.meldungen, 0)) over (order by coalesce(k.meldungen, 0), n.x, n.y) > h.meldungen as is_viel
  from (select distinct o.tk / 10 as x, o.tk % 10 as y from portal.raster_offen o where o.tk is not null) n
  cross join hier h
  left join portal.raster_zahl k on k.gitter = 'mtbq' and k.x = n.x and k.y = n.y) d
cross join lateral (
  select count(*) as meldungen, count(distinct g.art)::integer as arten, count(*) filter (where g.unschaerfe_m > 0) as verschleiert,
    extract(year from min(g.datum))::integer as erstes_jahr, extract(year from max(g.datum))::integer as letztes_jahr,
    null::bit varying as artenmenge
  from portal.sichtbeobachtung_gezeigt g
  where not d.is_viel and g.tk = d.x * 10 + d.y
  having count(*) > 0
  union all
  select k.meldungen, k.arten, k.verschleiert, k.erstes_jahr, k.letztes_jahr, k.artenmenge
  from portal.raster_zahl k
  where d.is_viel and k.gitter = 'mtbq' and k.x = d.x and k.y = d.y
    and exists (select from portal.sichtbeobachtung_gezeigt g where g.tk = d.x * 10 + d.y)) c;

comment on view gis.raster_zahl is 'Public released sightings counted per square of each grid, all species and years together';
comment on column gis.raster_zahl.gitter is '5km, eea10, mtb or mtbq';
comment on column gis.raster_zahl.x is 'As in gis.raster_feld';
comment on column gis.raster_zahl.y is 'As in gis.raster_feld';
comment on column gis.raster_zahl.meldungen is 'Number of sightings';
comment on column gis.raster_zahl.arten is 'Number of species';
comment on column gis.raster_zahl.verschleiert is 'How many of the sightings are masked, and so may lie beside the square';
comment on column gis.raster_zahl.erstes_jahr is 'Year of the first sighting';
comment on column gis.raster_zahl.letztes_jahr is 'Year of the last sighting';
comment on column gis.raster_zahl.artenmenge is 'Of the 5 km grid: its species as bits, in an order of their own';
comment on column gis.raster_zahl.ist_neu is 'Something changed just now, so that it is in neither gis.raster_feature nor gis.raster_grob';
