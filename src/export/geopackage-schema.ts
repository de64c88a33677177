// The tables that make an SQLite database a GeoPackage 1.3, and what QGIS reads beside them.
import type { ExportMandant } from '../db/export.ts';
import { licences } from './licences.ts';

export const layers = {
  beobachtung: {
    title: 'Beobachtungen',
    description: 'Ein Punkt je Beobachtung; bei unschaerfe_m > 0 die Mitte der Rasterzelle von 5 km',
  },
  artenkataster: {
    title: 'Beobachtungen (Namen wie im Artenkataster)',
    description: 'dieselben Beobachtungen mit den Namen, die docs/publishing.md nennt',
  },
  zelle: { title: 'Rasterzellen', description: 'Rasterzellen von 5 km mit Beobachtungen, deren genauer Ort geschützt ist' },
} as const;

const utm32 =
  'PROJCS["ETRS89 / UTM zone 32N",GEOGCS["ETRS89",DATUM["European_Terrestrial_Reference_System_1989",SPHEROID["GRS 1980",6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",9],PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],PARAMETER["false_northing",0],UNIT["metre",1],AXIS["Easting",EAST],AXIS["Northing",NORTH],AUTHORITY["EPSG","25832"]]';
const wgs84 =
  'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]';

/** Attributes as templates of state authorities name them, and the columns they are. */
const templateColumns = {
  ART_ID: 'art',
  ART_WISS: 'name_wissenschaftlich',
  ART_DEUTSCH: 'name_deutsch',
  ARTENGRUPPE: 'artengruppe',
  DATUM: 'datum',
  JAHR: 'jahr',
  ANZAHL: 'anzahl',
  STADIUM: 'stadium',
  VERHALTEN: 'aktivitaet',
  BEMERKUNG: 'bemerkung',
  UNSCHAERFE: 'unschaerfe_m',
  GUID: 'guid',
};

/** All tables, before any row. @param columns attributes of the layer beobachtung and their types */
export function schemaOf(columns: Readonly<Record<string, string>>): string {
  const attributes = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
  const template = Object.entries(templateColumns).map(([name, column]) => `${column} as ${name}`);
  return `
    pragma application_id = 1196444487;
    pragma user_version = 10300;
    create table gpkg_spatial_ref_sys (srs_name TEXT not null, srs_id INTEGER primary key, organization TEXT not null,
      organization_coordsys_id INTEGER not null, definition TEXT not null, description TEXT);
    insert into gpkg_spatial_ref_sys values ('Undefined Cartesian', -1, 'NONE', -1, 'undefined', null),
      ('Undefined geographic', 0, 'NONE', 0, 'undefined', null), ('WGS 84', 4326, 'EPSG', 4326, '${wgs84}', null),
      ('ETRS89 / UTM zone 32N', 25832, 'EPSG', 25832, '${utm32}', null);
    create table gpkg_contents (table_name TEXT not null primary key, data_type TEXT not null, identifier TEXT unique,
      description TEXT default '', last_change DATETIME not null default (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
      min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER,
      constraint fk_gc_r_srs_id foreign key (srs_id) references gpkg_spatial_ref_sys(srs_id));
    create table gpkg_geometry_columns (table_name TEXT not null, column_name TEXT not null, geometry_type_name TEXT not null,
      srs_id INTEGER not null, z TINYINT not null, m TINYINT not null, constraint pk_geom_cols primary key (table_name, column_name),
      constraint uk_gc_table_name unique (table_name), constraint fk_gc_tn foreign key (table_name) references gpkg_contents(table_name),
      constraint fk_gc_srs foreign key (srs_id) references gpkg_spatial_ref_sys(srs_id));
    insert into gpkg_geometry_columns values ('beobachtung', 'geom', 'POINT', 25832, 0, 0), ('zelle', 'geom', 'POLYGON', 25832, 0, 0),
      ('artenkataster', 'geom', 'POINT', 25832, 0, 0);
    create table gpkg_extensions (table_name TEXT, column_name TEXT, extension_name TEXT not null, definition TEXT not null,
      scope TEXT not null, constraint ge_tce unique (table_name, column_name, extension_name));
    insert into gpkg_extensions values
      ('beobachtung', 'geom', 'gpkg_rtree_index', 'http://www.geopackage.org/spec130/#extension_rtree', 'write-only'),
      ('zelle', 'geom', 'gpkg_rtree_index', 'http://www.geopackage.org/spec130/#extension_rtree', 'write-only'),
      ('gpkg_metadata', null, 'gpkg_metadata', 'http://www.geopackage.org/spec130/#extension_metadata', 'read-write'),
      ('gpkg_metadata_reference', null, 'gpkg_metadata', 'http://www.geopackage.org/spec130/#extension_metadata', 'read-write');
    create table gpkg_metadata (id INTEGER constraint m_pk primary key asc not null, md_scope TEXT not null default 'dataset',
      md_standard_uri TEXT not null, mime_type TEXT not null default 'text/xml', metadata TEXT not null default '');
    create table gpkg_metadata_reference (reference_scope TEXT not null, table_name TEXT, column_name TEXT, row_id_value INTEGER,
      timestamp DATETIME not null default (strftime('%Y-%m-%dT%H:%M:%fZ','now')), md_file_id INTEGER not null, md_parent_id INTEGER,
      constraint crmr_mfi_fk foreign key (md_file_id) references gpkg_metadata(id),
      constraint crmr_mpi_fk foreign key (md_parent_id) references gpkg_metadata(id));
    create table beobachtung (id INTEGER primary key autoincrement not null, geom POINT, ${attributes.join(', ')});
    create table zelle (id INTEGER primary key autoincrement not null, geom POLYGON, cell_x INTEGER, cell_y INTEGER,
      meldungen INTEGER, arten INTEGER);
    create virtual table rtree_beobachtung_geom using rtree (id, minx, maxx, miny, maxy);
    create virtual table rtree_zelle_geom using rtree (id, minx, maxx, miny, maxy);
    create table layer_styles (id INTEGER primary key autoincrement, f_table_catalog TEXT, f_table_schema TEXT, f_table_name TEXT,
      f_geometry_column TEXT, styleName TEXT, styleQML TEXT, styleSLD TEXT, useAsDefault BOOLEAN, description TEXT, owner TEXT, ui TEXT,
      update_time DATETIME);
    create view artenkataster as select id, geom, ${template.join(', ')} from beobachtung;`;
}

/** Triggers that keep an R-tree when somebody edits the layer; as the standard words them (annex F.3). */
export function triggersOf(layer: string): string {
  const rtree = `rtree_${layer}_geom`;
  const box = 'ST_MinX(NEW.geom), ST_MaxX(NEW.geom), ST_MinY(NEW.geom), ST_MaxY(NEW.geom)';
  const filled = (row: 'OLD' | 'NEW') => `${row}.geom notnull and not ST_IsEmpty(${row}.geom)`;
  const empty = '(NEW.geom isnull or ST_IsEmpty(NEW.geom))';
  return `
    create trigger ${rtree}_insert after insert on ${layer} when (new.geom not null and not ST_IsEmpty(NEW.geom))
    begin insert or replace into ${rtree} values (NEW.id, ${box}); end;
    create trigger ${rtree}_update1 after update of geom on ${layer} when OLD.id = NEW.id and (${filled('NEW')})
    begin insert or replace into ${rtree} values (NEW.id, ${box}); end;
    create trigger ${rtree}_update2 after update of geom on ${layer} when OLD.id = NEW.id and ${empty}
    begin delete from ${rtree} where id = OLD.id; end;
    create trigger ${rtree}_update3 after update on ${layer} when OLD.id != NEW.id and (${filled('NEW')})
    begin delete from ${rtree} where id = OLD.id; insert or replace into ${rtree} values (NEW.id, ${box}); end;
    create trigger ${rtree}_update4 after update on ${layer} when OLD.id != NEW.id and ${empty}
    begin delete from ${rtree} where id in (OLD.id, NEW.id); end;
    create trigger ${rtree}_delete after delete on ${layer} when old.geom not null
    begin delete from ${rtree} where id = OLD.id; end;`;
}

/** How QGIS draws the layers when it opens them: a masked record as a ring, for it lies anywhere in its square. */
export function listStyle(): { layer: keyof typeof layers; title: string; qml: string }[] {
  const symbol = (name: number, type: string, layer: string, options: Record<string, string>) =>
    `<symbol type="${type}" name="${name}"><layer class="${layer}" enabled="1"><Option type="Map">${Object.entries(options)
      .map(([key, value]) => `<Option type="QString" name="${key}" value="${value}"/>`)
      .join('')}</Option></layer></symbol>`;
  const style = (geometry: number, renderer: string) =>
    `<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'><qgis version="3.28" styleCategories="Symbology">${renderer}<layerGeometryType>${geometry}</layerGeometryType></qgis>`;
  const dot = { name: 'circle', size: '2' };
  const exact = symbol(0, 'marker', 'SimpleMarker', { ...dot, color: '0,109,44,255' });
  const masked = symbol(1, 'marker', 'SimpleMarker', { ...dot, color: '255,255,255,0', outline_color: '217,95,2,255' });
  const rule = (index: number, filter: string, label: string) =>
    `<rule key="{${index}}" symbol="${index}" filter="${filter}" label="${label}"/>`;
  const points = (column: string) =>
    style(
      0,
      `<renderer-v2 type="RuleRenderer"><rules key="{rules}">${rule(0, `&quot;${column}&quot; = 0`, 'genauer Ort')}${rule(1, `&quot;${column}&quot; > 0`, 'Mitte der Rasterzelle, genauer Ort geschützt')}</rules><symbols>${exact}${masked}</symbols></renderer-v2>`,
    );
  const fill = symbol(0, 'fill', 'SimpleFill', { color: '217,95,2,64', outline_color: '217,95,2,255' });
  const qml = {
    beobachtung: points('unschaerfe_m'),
    artenkataster: points('UNSCHAERFE'),
    zelle: style(2, `<renderer-v2 type="singleSymbol"><symbols>${fill}</symbols></renderer-v2>`),
  };
  return Object.entries(layers).map(([layer, { title }]) => {
    const name = layer as keyof typeof layers;
    return { layer: name, title, qml: qml[name] };
  });
}

/** What a file says of itself. */
export function describeGeoPackage({ titel, beschreibung, herausgeber, kontakt, lizenz }: ExportMandant): string {
  return [
    `Titel: ${titel}`,
    `Beschreibung: ${beschreibung}`,
    `Herausgeber: ${herausgeber}`,
    `Kontakt: ${kontakt}`,
    `Lizenz: ${licences[lizenz].title} (${licences[lizenz].url})`,
  ].join('\n');
}
