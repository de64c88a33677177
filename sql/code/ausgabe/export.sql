-- Rows of the files to publish (O5). One list of columns for all formats, from which each takes its own by name (src/export/columns.ts).
-- A record stands in the files of the tenant in which its shown place lies: a masked one where the centre of its cell does.

-- How masked records of a cell are shown by coordinates in degrees.
--   lon, lat      of the centre of the cell, degrees, seven decimals
-- returns         umriss: polygon in EPSG:4326, longitude first, its edges split, that holds the cell; unschaerfe_m: metres, at least the
--                 distance from that centre to each corner of it, by the ellipsoid
create or replace function ausgabe.get_zelle_umriss(cell_x integer, cell_y integer)
  returns table (lon numeric, lat numeric, umriss text, unschaerfe_m integer)
  language sql
  stable
  rows 1
as $$
  select public.st_x(k.mitte)::numeric(10, 7), public.st_y(k.mitte)::numeric(10, 7), public.st_astext(k.umriss, 7),
    (select ceil(max(public.st_distance(k.mitte::public.geography, p.geom::public.geography)))::integer from public.st_dumppoints(k.umriss) p)
  from (
    select
      public.st_geomfromtext(public.st_astext(ausgabe.to_lonlat(public.st_centroid(z.cell)), 7), 4326) as mitte,
      -- A metre more than the cell: so much more than what rounding and straight edges in degrees take away.
      public.st_geomfromtext(
        public.st_astext(ausgabe.to_lonlat(public.st_segmentize(public.st_expand(z.cell, 1), 1000)), 7), 4326) as umriss
    from (select ausgabe.to_cells(get_zelle_umriss.cell_x, get_zelle_umriss.cell_x, get_zelle_umriss.cell_y, get_zelle_umriss.cell_y, 0) as cell) z
    offset 0
  ) k
$$;
comment on function ausgabe.get_zelle_umriss(integer, integer) is
  'Centre of a 5 km cell in degrees, a polygon in degrees that holds the cell, and how far its corners are from the centre';

-- The records of a tenant's files, in the order of the files: by cell, then by id. Inlined into the query around it, so that a cursor reads
-- rows as they are found.
--   mandant_id   gis.mandant.id
--   rechte       address of the tenant's licence
-- returns          columns of gis.sichtbeobachtung and terms of Darwin Core; what is empty in a file is null
create or replace function ausgabe.list_export(mandant_id integer, rechte text)
  returns table (
    id bigint, guid uuid, art integer, name_deutsch text, name_wissenschaftlich text, gid integer, artengruppe text, is_animal boolean,
    datum date, jahr integer, anzahl integer, stadium text, aktivitaet text, bemerkung text, unschaerfe_m integer, cell_x integer,
    cell_y integer, phaenogramm boolean, geaendert date, x float8, y float8, lon numeric, lat numeric, zelle_wkt text,
    "basisOfRecord" text, kingdom text, "taxonID" text, "geodeticDatum" text, "coordinateUncertaintyInMeters" integer,
    "footprintSRS" text, "countryCode" text, "stateProvince" text, "dataGeneralizations" text, "informationWithheld" text, license text,
    "rightsHolder" text, "datasetName" text, "identificationVerificationStatus" text)
  language sql
  stable
as $$
  select s.id, s.guid, s.art, s.name_deutsch, s.name_wissenschaftlich, s.gid, s.artengruppe, s.is_animal, s.datum, s.jahr, s.anzahl,
    s.stadium, s.aktivitaet, s.bemerkung, s.unschaerfe_m, s.cell_x, s.cell_y, s.phaenogramm, s.geaendert,
    public.st_x(s.place), public.st_y(s.place),
    case when s.unschaerfe_m > 0 then z.lon else public.st_x(p.grad)::numeric(10, 7) end,
    case when s.unschaerfe_m > 0 then z.lat else public.st_y(p.grad)::numeric(10, 7) end,
    case when s.unschaerfe_m > 0 then z.umriss end,
    'HumanObservation', case when s.is_animal then 'Animalia' end, coalesce(a.eu_guid, s.art::text), 'EPSG:4326',
    case when s.unschaerfe_m > 0 then z.unschaerfe_m end,
    case when s.unschaerfe_m > 0 then 'EPSG:4326' end,
    -- A cell that crosses a border does not tell on which side of it the record lies.
    case when s.unschaerfe_m = 0 or z.ganz then 'DE' end,
    case when s.unschaerfe_m = 0 or z.ganz then z.name end,
    case when s.unschaerfe_m > 0 then
      'Ort auf ein Quadrat von 5 km vergröbert (EPSG:25832) / Location generalized to a square of 5 km (EPSG:25832)' end,
    case when s.unschaerfe_m > 0 then
      concat('Genauer Ort und Bemerkung geschützt, Auskunft: ', z.kontakt, ' / Exact location and remarks withheld, contact: ', z.kontakt) end,
    list_export.rechte, z.herausgeber, z.titel, 'verified'
  from (
    select c.cell_x, c.cell_y, c.ganz, u.lon, u.lat, u.umriss, u.unschaerfe_m, m.name, m.kontakt, m.herausgeber, m.titel
    from gis.mandant_zelle c
    join gis.mandant m on m.id = c.mandant_id
    cross join lateral ausgabe.get_zelle_umriss(c.cell_x, c.cell_y) u
    where c.mandant_id = list_export.mandant_id
    order by c.cell_x, c.cell_y
    -- Else this would be computed for each record instead of for each cell.
    offset 0
  ) z
  join gis.sichtbeobachtung s on s.cell_x = z.cell_x and s.cell_y = z.cell_y
  left join gis.art a on a.id = s.art
  cross join lateral (select ausgabe.to_lonlat(s.place) as grad offset 0) p
  where z.ganz
    or exists (select from gis.mandant_teil t where t.mandant_id = list_export.mandant_id and public.st_intersects(t.teil, s.place))
  order by s.cell_x, s.cell_y, s.id
$$;
comment on function ausgabe.list_export(integer, text) is
  'Records of the files that a tenant publishes: as gis.sichtbeobachtung has them, and as terms of Darwin Core';

-- What the records of a tenant's files span.
-- returns  one row: first and last day (null without records), day of the last change of any of them or else of the boundary, and the box
--          around the tenant in degrees: west, south, east, north
create or replace function ausgabe.get_export_umfang(mandant_id integer)
  returns table (von date, bis date, geaendert date, box float8[])
  language sql
  stable
  rows 1
as $$
  select l.von, l.bis, coalesce(l.geaendert, (m.stand at time zone 'Europe/Berlin')::date), ausgabe.to_degrees(public.st_envelope(m.boundary))
  from gis.mandant m
  cross join (
    select min(e.datum) as von, max(e.datum) as bis, max(e.geaendert) as geaendert
    from ausgabe.list_export(get_export_umfang.mandant_id, null) e) l
  where m.id = get_export_umfang.mandant_id
$$;
comment on function ausgabe.get_export_umfang(integer) is 'Days and area of the records that a tenant publishes';

-- Photos and sound files of the records of a tenant's files that may be passed on, in the order of the records.
create or replace function ausgabe.list_export_medium(mandant_id integer)
  returns table (guid uuid, name text, lizenz text, urheber text)
  language sql
  stable
as $$
  select e.guid, f.name, f.lizenz, f.urheber
  from ausgabe.list_export(list_export_medium.mandant_id, null) e
  join gis.medium f on f.sichtbeobachtung_id = e.id
  order by e.cell_x, e.cell_y, e.id, f.nummer
$$;
comment on function ausgabe.list_export_medium(integer) is 'Photos and sound files that a tenant publishes: of records that are not masked';

-- Records of a tenant's files counted by square of the European grid, year and species.
-- returns  eeacellcode: 10kmE432N312; mincoordinateuncertaintyinmeters: the smallest, null where the place of one of them is exact
create or replace function ausgabe.list_export_wuerfel(mandant_id integer)
  returns table (
    eeacellcode text, year integer, specieskey text, species text, occurrences bigint, mincoordinateuncertaintyinmeters integer)
  language sql
  stable
as $$
  select pg_catalog.format('10kmE%sN%s', w.eea10 / 1000, w.eea10 % 1000), w.jahr, w."taxonID", a.name_wissenschaftlich, w.meldungen, w.unschaerfe_m
  from (
    select r.eea10, e.jahr, e.art, e."taxonID", count(*) as meldungen,
      case when bool_and(e.unschaerfe_m > 0) then min(e."coordinateUncertaintyInMeters") end as unschaerfe_m
    from ausgabe.list_export(list_export_wuerfel.mandant_id, null) e
    join gis.sichtbeobachtung_raster r on r.id = e.id
    where r.eea10 is not null
    group by r.eea10, e.jahr, e.art, e."taxonID"
  ) w
  left join gis.art a on a.id = w.art
  order by w.eea10, w.jahr, w.art
$$;
comment on function ausgabe.list_export_wuerfel(integer) is
  'Records that a tenant publishes, counted by square of the European 10 km grid, year and species';

-- A value as a cell of CSV, as src/guard/csv.ts writes it (O2.16).
create or replace function ausgabe.to_csv_zelle(wert text)
  returns text
  language sql
  immutable
  parallel safe
as $$
  select case when k.wert ~ '[",\r\n]' then '"' || replace(k.wert, '"', '""') || '"' else k.wert end
  from (select case when wert ~ '^[-=+@\t\r\n＝＋－＠]' then '''' || wert else wert end as wert) k
$$;
comment on function ausgabe.to_csv_zelle(text) is 'Text as a cell of CSV: quoted where needed, and nothing that a spreadsheet would compute';
