-- What analysts may read, with psql, QGIS or R. Plain views, so that the spatial index is used; on tables that hold nothing
-- their readers may not see. They call no function of ours: it would run with the rights of whoever reads the view.
--
-- None can be written: whoever prepares a change of one that can be holds a lock on its table before anybody asks for rights. One table alone
-- would make one; beside nothing, `(select)`, it doesn't, and the planner leaves that out.
--
-- Applied only when this file changed (see src/db/migrate.ts). Columns are added at the end and never renamed, retyped or
-- removed: analysts' own views and QGIS projects stand on them. Who may read what is in grants.sql.

-- Left joins, because the planner leaves those out that a query doesn't look at: a map needs neither names nor stages.
create or replace view gis.sichtbeobachtung as
select g.id, g.guid, g.art, a.name_deutsch, a.name_wissenschaftlich, a.gid, r.name_deutsch as artengruppe, r.is_animal,
  g.datum, g.jahr, g.anzahl, st.name as stadium, t.name as aktivitaet, g.bemerkung,
  g.unschaerfe_m, g.cell_x, g.cell_y, g.place, coalesce(st.phaenogramm, true) as phaenogramm, g.geaendert,
  g.ctid as zeile
from portal.sichtbeobachtung_gezeigt g
left join portal.art a on a.id = g.art
left join portal.artengruppe r on r.id = a.gid
left join portal.stadium st on st.id = g.stadium_id
left join portal.aktivitaet t on t.id = g.aktivitaet_id;

comment on view gis.sichtbeobachtung is
  'Public released sightings, one row each, at the place that everyone may see: that of a protected record is the centre of its 5 km cell';
comment on column gis.sichtbeobachtung.id is 'Number of the sighting, unique; as id in the API and in gis.protokoll';
comment on column gis.sichtbeobachtung.guid is 'Stable identifier of the sighting (UUID)';
comment on column gis.sichtbeobachtung.art is 'Species, gis.art.id';
comment on column gis.sichtbeobachtung.name_deutsch is 'General German name of the species, null where it has none; a tenant may use another one in the API';
comment on column gis.sichtbeobachtung.name_wissenschaftlich is 'General scientific name of the species';
comment on column gis.sichtbeobachtung.gid is 'Species group';
comment on column gis.sichtbeobachtung.artengruppe is 'German name of the species group';
comment on column gis.sichtbeobachtung.is_animal is 'Whether the group consists of animals';
comment on column gis.sichtbeobachtung.datum is 'Day of the sighting';
comment on column gis.sichtbeobachtung.jahr is 'Year of the sighting';
comment on column gis.sichtbeobachtung.anzahl is 'Number of individuals';
comment on column gis.sichtbeobachtung.stadium is 'Developmental stage, if reported';
comment on column gis.sichtbeobachtung.aktivitaet is 'Activity, if reported';
comment on column gis.sichtbeobachtung.bemerkung is 'Remark of the recorder; null for a protected record, as it may describe the place';
comment on column gis.sichtbeobachtung.unschaerfe_m is
  'How far off the true place may be, in metres: 0 = place is the true one; 3536 = place is the centre of the cell (half its diagonal)';
comment on column gis.sichtbeobachtung.cell_x is 'Column of the 5 km grid, counted eastwards from easting 0 (EPSG:25832)';
comment on column gis.sichtbeobachtung.cell_y is 'Row of the 5 km grid, counted northwards from northing 0 (EPSG:25832)';
comment on column gis.sichtbeobachtung.place is 'Place that everyone may see, point in EPSG:25832 (metres); exact to unschaerfe_m';
comment on column gis.sichtbeobachtung.phaenogramm is 'Whether the find counts for the curve of the year: as its stage says, true without a stage';
comment on column gis.sichtbeobachtung.geaendert is 'Day of the last change of what is shown of the sighting (Europe/Berlin)';
comment on column gis.sichtbeobachtung.zeile is 'Where the row lies at this moment, for the service''s own statements; never to be stored';

-- Two branches instead of a choice per row, so that the open records are found by their spatial index here too.
create or replace view gis.sichtbeobachtung_exakt as
select k.id, k.guid, k.art, a.name_deutsch, a.name_wissenschaftlich, a.gid, r.name_deutsch as artengruppe, r.is_animal,
  k.datum, k.jahr, k.anzahl, st.name as stadium, t.name as aktivitaet, k.bemerkung,
  k.geschuetzt, k.cell_x, k.cell_y, k.place
from (
  select g.id, g.guid, g.art, g.datum, g.jahr, g.anzahl, g.stadium_id, g.aktivitaet_id, g.bemerkung, false as geschuetzt,
    g.cell_x, g.cell_y, g.place
  from portal.sichtbeobachtung_gezeigt g
  where g.unschaerfe_m = 0
  union all
  select g.id, g.guid, g.art, g.datum, g.jahr, g.anzahl, g.stadium_id, g.aktivitaet_id, e.bemerkung, true,
    g.cell_x, g.cell_y, e.place
  from portal.sichtbeobachtung_exakt e
  join portal.sichtbeobachtung_gezeigt g on g.id = e.id
) k
left join portal.art a on a.id = k.art
left join portal.artengruppe r on r.id = a.gid
left join portal.stadium st on st.id = k.stadium_id
left join portal.aktivitaet t on t.id = k.aktivitaet_id;

comment on view gis.sichtbeobachtung_exakt is
  'The same sightings as gis.sichtbeobachtung at their true place; for gis_exact only: what is geschuetzt must not be passed on';
comment on column gis.sichtbeobachtung_exakt.id is 'Number of the sighting, unique; as id in the API and in gis.protokoll';
comment on column gis.sichtbeobachtung_exakt.guid is 'Stable identifier of the sighting (UUID)';
comment on column gis.sichtbeobachtung_exakt.art is 'Species, gis.art.id';
comment on column gis.sichtbeobachtung_exakt.name_deutsch is 'General German name of the species, null where it has none; a tenant may use another one in the API';
comment on column gis.sichtbeobachtung_exakt.name_wissenschaftlich is 'General scientific name of the species';
comment on column gis.sichtbeobachtung_exakt.gid is 'Species group';
comment on column gis.sichtbeobachtung_exakt.artengruppe is 'German name of the species group';
comment on column gis.sichtbeobachtung_exakt.is_animal is 'Whether the group consists of animals';
comment on column gis.sichtbeobachtung_exakt.datum is 'Day of the sighting';
comment on column gis.sichtbeobachtung_exakt.jahr is 'Year of the sighting';
comment on column gis.sichtbeobachtung_exakt.anzahl is 'Number of individuals';
comment on column gis.sichtbeobachtung_exakt.stadium is 'Developmental stage, if reported';
comment on column gis.sichtbeobachtung_exakt.aktivitaet is 'Activity, if reported';
comment on column gis.sichtbeobachtung_exakt.bemerkung is 'Remark of the recorder';
comment on column gis.sichtbeobachtung_exakt.geschuetzt is 'Protected: its recorder marked it, or any tenant protects its species; do not pass its place on';
comment on column gis.sichtbeobachtung_exakt.cell_x is 'Column of the 5 km grid, counted eastwards from easting 0 (EPSG:25832)';
comment on column gis.sichtbeobachtung_exakt.cell_y is 'Row of the 5 km grid, counted northwards from northing 0 (EPSG:25832)';
comment on column gis.sichtbeobachtung_exakt.place is 'True place, point in EPSG:25832 (metres)';

-- Names in the grouped query, although they follow from the species: a condition on them then narrows what is counted.
create or replace view gis.raster_5km as
select z.cell_x || '/' || z.cell_y || '/' || g.art || '/' || g.jahr as id, z.cell_x, z.cell_y, g.art, a.name_deutsch,
  a.name_wissenschaftlich, a.gid, r.name_deutsch as artengruppe, g.jahr, count(*) as meldungen, sum(g.anzahl) as individuen, z.cell
from portal.sichtbeobachtung_gezeigt g
join portal.raster_zelle z on z.cell_x = g.cell_x and z.cell_y = g.cell_y
left join portal.art a on a.id = g.art
left join portal.artengruppe r on r.id = a.gid
group by z.cell_x, z.cell_y, g.art, g.jahr, a.id, r.id;

comment on view gis.raster_5km is
  'Public released sightings counted per cell of the 5 km grid, species and year; protected ones are in it like all others';
comment on column gis.raster_5km.id is 'cell_x/cell_y/art/jahr: names the row, for programs that need a key of one column';
comment on column gis.raster_5km.cell_x is 'Column of the 5 km grid, counted eastwards from easting 0 (EPSG:25832)';
comment on column gis.raster_5km.cell_y is 'Row of the 5 km grid, counted northwards from northing 0 (EPSG:25832)';
comment on column gis.raster_5km.art is 'Species, gis.art.id';
comment on column gis.raster_5km.name_deutsch is 'General German name of the species, null where it has none';
comment on column gis.raster_5km.name_wissenschaftlich is 'General scientific name of the species';
comment on column gis.raster_5km.gid is 'Species group';
comment on column gis.raster_5km.artengruppe is 'German name of the species group';
comment on column gis.raster_5km.jahr is 'Year of the sightings';
comment on column gis.raster_5km.meldungen is 'Number of sightings';
comment on column gis.raster_5km.individuen is 'Number of individuals: the sum of their anzahl';
comment on column gis.raster_5km.cell is 'Square of the cell, polygon in EPSG:25832 (metres)';

create or replace view gis.mandant as
select m.id, m.kuerzel, m.name, m.quelle, m.stand, m.boundary, m.lizenz, m.herausgeber, m.kontakt, m.titel, m.beschreibung
from portal.mandant m
cross join (select) nichts;

comment on view gis.mandant is 'Tenants of the portal with their boundaries';
comment on column gis.mandant.id is 'Number of the tenant';
comment on column gis.mandant.kuerzel is 'Abbreviation, unique without regard to case';
comment on column gis.mandant.name is 'Name of the tenant';
comment on column gis.mandant.quelle is 'Where the boundary comes from';
comment on column gis.mandant.stand is 'Since when the boundary is as it is';
comment on column gis.mandant.boundary is 'Boundary, multipolygon in EPSG:25832 (metres); its edge belongs to the tenant';
comment on column gis.mandant.lizenz is 'Licence of its sightings as it publishes them; null: it publishes none';
comment on column gis.mandant.herausgeber is 'Publisher of its sightings';
comment on column gis.mandant.kontakt is 'Mail address for questions about its sightings';
comment on column gis.mandant.titel is 'Title of its sightings as a dataset';
comment on column gis.mandant.beschreibung is 'Description of its sightings as a dataset';

create or replace view gis.mandant_zelle as
select z.mandant_id, z.cell_x, z.cell_y, z.ganz
from portal.mandant_zelle z
cross join (select) nichts;

comment on view gis.mandant_zelle is 'Cells of the 5 km grid that a tenant touches';
comment on column gis.mandant_zelle.mandant_id is 'Tenant, gis.mandant.id';
comment on column gis.mandant_zelle.cell_x is 'Column of the 5 km grid';
comment on column gis.mandant_zelle.cell_y is 'Row of the 5 km grid';
comment on column gis.mandant_zelle.ganz is 'Whether the whole cell lies in the tenant';

create or replace view gis.mandant_teil as
select t.id, t.mandant_id, t.teil
from portal.mandant_teil t
cross join (select) nichts;

comment on view gis.mandant_teil is 'Boundaries of tenants in small parts: whether a place lies in a tenant is answered in a hundredth of the time';
comment on column gis.mandant_teil.id is 'Number of the part';
comment on column gis.mandant_teil.mandant_id is 'Tenant, gis.mandant.id';
comment on column gis.mandant_teil.teil is 'Part of the boundary, polygon in EPSG:25832 (metres); its edge belongs to it';

create or replace view gis.medium as
select m.sichtbeobachtung_id, m.nummer, m.name, m.lizenz, m.urheber
from portal.medium_gezeigt m
cross join (select) nichts;

comment on view gis.medium is 'Photos and sound files that may be passed on: with a licence, of sightings that are not masked';
comment on column gis.medium.sichtbeobachtung_id is 'Sighting, gis.sichtbeobachtung.id';
comment on column gis.medium.nummer is 'Which of its files';
comment on column gis.medium.name is 'Name of the file: the last part of its address, /api/v2/medien/NAME';
comment on column gis.medium.lizenz is 'CC0-1.0, CC-BY-4.0 or CC-BY-NC-4.0';
comment on column gis.medium.urheber is 'Who is to be named; null: the author does not want to be named';

create or replace view gis.art as
select a.id, a.eu_guid, a.name_deutsch, a.name_wissenschaftlich, a.gid, r.name_deutsch as artengruppe, r.is_animal,
  array(
    select m.kuerzel
    from portal.art_mandant am
    join portal.mandant m on m.id = am.mandant_id
    where am.art = a.id and am.sensibel
    order by m.kuerzel) as sensibel_in
from portal.art a
left join portal.artengruppe r on r.id = a.gid;

comment on view gis.art is 'Species with their general names';
comment on column gis.art.id is 'Number of the species, as art elsewhere';
comment on column gis.art.eu_guid is 'Identifier of the species in the European register, if it has one';
comment on column gis.art.name_deutsch is 'General German name, null where there is none';
comment on column gis.art.name_wissenschaftlich is 'General scientific name';
comment on column gis.art.gid is 'Species group';
comment on column gis.art.artengruppe is 'German name of the species group';
comment on column gis.art.is_animal is 'Whether the group consists of animals';
comment on column gis.art.sensibel_in is 'Abbreviations of the tenants that protect the places of this species; empty when none does';

create or replace view gis.stadium as
select st.id, st.name, st.phaenogramm
from portal.stadium st
cross join (select) nichts;

comment on view gis.stadium is 'Developmental stages';
comment on column gis.stadium.id is 'Number of the stage, gis.sichtbeobachtung_raster.stadium_id';
comment on column gis.stadium.name is 'Its name, as stadium elsewhere';
comment on column gis.stadium.phaenogramm is 'Whether records of it count for the curve of the year; tracks do not';

-- Types of schema portal leave as text: whoever may not look into a schema can't name its types.
create or replace view gis.protokoll as
select p.id, p.audit::text as audit, p.sichtbeobachtung_id, p.zeitpunkt
from portal.protokoll p
cross join (select) nichts;

comment on view gis.protokoll is 'Change log of all sightings, also private ones, as the API shows it to everyone; it carries no content';
comment on column gis.protokoll.id is 'Number of the entry; a later entry has a higher one';
comment on column gis.protokoll.audit is 'CREATE, UPDATE or DELETE';
comment on column gis.protokoll.sichtbeobachtung_id is 'Number of the sighting, which need not exist any more';
comment on column gis.protokoll.zeitpunkt is 'Time of the change';

create or replace view gis.qs as
select q.id, q.sichtbeobachtung_id, q.nutzer_id, q.art, q.datum_beobachtung, q.status::text as status, q.experte_id, q.zeitpunkt
from portal.qs q
cross join (select) nichts;

comment on view gis.qs is
  'Quality-assurance log, for gis_exact only: every publication and every change of status of a published sighting';
comment on column gis.qs.id is 'Number of the entry; a later entry has a higher one';
comment on column gis.qs.sichtbeobachtung_id is 'Number of the sighting, which need not exist any more';
comment on column gis.qs.nutzer_id is 'Number of the recorder, uid in the API';
comment on column gis.qs.art is 'Species at that time, gis.art.id';
comment on column gis.qs.datum_beobachtung is 'Day of the sighting at that time';
comment on column gis.qs.status is 'Status that the sighting was given: pruefung, hinweis, freigegeben or abgelehnt';
comment on column gis.qs.experte_id is 'Number of the expert or administrator who released or rejected it';
comment on column gis.qs.zeitpunkt is 'Time of the change';
