-- What is made of the kept counts, for the outputs (gis/raster_grob.sql).

-- What gis.raster_zahl has of squares that were counted before. Of one branch, so that an index gives a page in its order.
create or replace view gis.raster_feature as
select k.gitter, k.x, k.y, k.meldungen, k.arten, k.verschleiert, k.erstes_jahr, k.letztes_jahr, k.feature
from portal.raster_zahl k
cross join (select) nichts
where (k.gitter, k.x, k.y) not in (
  select distinct f.gitter, f.x, f.y
  from portal.raster_offen o
  cross join lateral (
    values ('5km', o.cell_x, o.cell_y), ('eea10', o.eea10 / 1000, o.eea10 % 1000), ('mtb', o.tk / 1000, o.tk / 10 % 100),
      ('mtbq', o.tk / 10, o.tk % 10)) f (gitter, x, y)
  where f.x is not null);

comment on view gis.raster_feature is 'Squares of each grid with their counts as GeoJSON, but for those in which something changed just now';
comment on column gis.raster_feature.gitter is '5km, eea10, mtb or mtbq';
comment on column gis.raster_feature.x is 'As in gis.raster_feld';
comment on column gis.raster_feature.y is 'As in gis.raster_feld';
comment on column gis.raster_feature.meldungen is 'As in gis.raster_zahl';
comment on column gis.raster_feature.arten is 'As in gis.raster_zahl';
comment on column gis.raster_feature.verschleiert is 'As in gis.raster_zahl';
comment on column gis.raster_feature.erstes_jahr is 'As in gis.raster_zahl';
comment on column gis.raster_feature.letztes_jahr is 'As in gis.raster_zahl';
comment on column gis.raster_feature.feature is 'GeoJSON feature in degrees; null where it is yet to be written';

create or replace view gis.raster_grob as
with offen as (
  select distinct s.stufe, o.cell_x >> s.stufe as x, o.cell_y >> s.stufe as y
  from (select distinct o.cell_x, o.cell_y from portal.raster_offen o) o
  cross join generate_series(0, 9) s (stufe)
)
select k.stufe, k.x, k.y, k.meldungen, k.arten, k.verschleiert, k.cell
from portal.raster_grob k
where (k.stufe, k.x, k.y) not in (select o.stufe, o.x, o.y from offen o)
union all
select o.stufe, o.x, o.y, null, null, null, null::public.geometry(Polygon, 3857)
from offen o;

comment on view gis.raster_grob is
  'Public released sightings counted per square of 5 km times a power of two; without counts where something changed just now: see gis.raster_zahl';
comment on column gis.raster_grob.stufe is 'A square has 5 km times 2 to the power of this: 0 to 9';
comment on column gis.raster_grob.x is 'cell_x of its cells, divided by 2 to the power of stufe';
comment on column gis.raster_grob.y is 'cell_y of its cells, divided by 2 to the power of stufe';
comment on column gis.raster_grob.meldungen is 'Number of sightings';
comment on column gis.raster_grob.arten is 'Number of species';
comment on column gis.raster_grob.verschleiert is 'How many of the sightings are masked';
comment on column gis.raster_grob.cell is 'Square, polygon in EPSG:3857';
