// A GeoPackage as an office opens it (O5): https://www.geopackage.org/spec131/. Written by SQLite itself, so that no program is needed.
import { DatabaseSync } from 'node:sqlite';
import type { ExportUmfang } from '../db/export-rows.ts';
import { readArrays } from '../db/export-rows.ts';
import { gpkgColumns } from './columns.ts';
import { describeGeoPackage, layers, listStyle, schemaOf, triggersOf } from './geopackage-schema.ts';
import type { Writing } from './writing.ts';

const srid = 25832;
const cellSize = 5000;

/** Writes the layers beobachtung (every record as a point) and zelle (the square of each cell with masked records). */
export async function writeGeoPackage(writing: Writing, umfang: ExportUmfang): Promise<void> {
  const { tx, source, mandant, path, count } = writing;
  // Tables are filled in the order in which rows come.
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  try {
    // It is written aside: nobody sees it before it is whole, and nothing is ever taken back.
    db.exec('pragma journal_mode = off; pragma synchronous = off; pragma page_size = 4096; pragma cache_size = -8192');
    db.exec(schemaOf(gpkgColumns));
    db.exec('begin');
    const names = Object.keys(gpkgColumns);
    const insert = db.prepare(
      `insert into beobachtung (id, geom, ${names.join(', ')}) values (?, unhex(?)${', ?'.repeat(names.length)})`,
    );
    const index = db.prepare('insert into rtree_beobachtung_geom (id, minx, maxx, miny, maxy) values (?, ?, ?, ?, ?)');
    const extents = { beobachtung: new Extent(), zelle: new Extent() };
    for await (const rows of readArrays(tx, source, names)) {
      for (const row of rows) {
        const [id, x, y, point, ...values] = JSON.parse(row.toString()) as [
          number,
          number,
          number,
          string,
          ...(number | string | null)[],
        ];
        insert.run(id, pointHeader + point, ...values);
        index.run(id, x, x, y, y);
        extents.beobachtung.add([x, y, x, y]);
      }
      await count(rows.length);
    }
    writeCells(db, extents.zelle);
    const contents = db.prepare('insert into gpkg_contents values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    for (const [name, { title, description }] of Object.entries(layers)) {
      const { box } = name === 'zelle' ? extents.zelle : extents.beobachtung;
      contents.run(
        name,
        'features',
        title,
        description,
        `${umfang.geaendert}T00:00:00.000Z`,
        ...(box ?? [null, null, null, null]),
        srid,
      );
    }
    for (const name of Object.keys(extents)) db.exec(triggersOf(name));
    const styles = db.prepare(
      `insert into layer_styles (f_table_catalog, f_table_schema, f_table_name, f_geometry_column, styleName, styleQML, styleSLD, useAsDefault, description, owner, ui, update_time)
       values ('', '', ?, 'geom', ?, ?, '', 1, '', '', null, ?)`,
    );
    for (const { layer, title, qml } of listStyle()) styles.run(layer, title, qml, `${umfang.geaendert}T00:00:00.000Z`);
    db.prepare("insert into gpkg_metadata values (1, 'dataset', 'http://www.isotc211.org/2005/gmd', 'text/plain', ?)").run(
      describeGeoPackage(mandant),
    );
    db.prepare("insert into gpkg_metadata_reference values ('geopackage', null, null, null, ?, 1, null)").run(
      `${umfang.geaendert}T00:00:00.000Z`,
    );
    db.exec('commit');
  } finally {
    db.close();
  }
}

type Box = [minX: number, minY: number, maxX: number, maxY: number];

class Extent {
  box: Box | null = null;
  add([minX, minY, maxX, maxY]: Box): void {
    const { box } = this;
    this.box = box
      ? [Math.min(box[0], minX), Math.min(box[1], minY), Math.max(box[2], maxX), Math.max(box[3], maxY)]
      : [minX, minY, maxX, maxY];
  }
}

/** The squares that hold masked records, with how many of how many species. */
function writeCells(db: DatabaseSync, extent: Extent): void {
  const insert = db.prepare('insert into zelle (geom, cell_x, cell_y, meldungen, arten) values (?, ?, ?, ?, ?)');
  const index = db.prepare('insert into rtree_zelle_geom (id, minx, maxx, miny, maxy) values (?, ?, ?, ?, ?)');
  const cells = db
    .prepare(`
      select cell_x as x, cell_y as y, count(*) as meldungen, count(distinct art) as arten
      from beobachtung where unschaerfe_m > 0 group by cell_x, cell_y order by cell_x, cell_y`)
    .all() as { x: number; y: number; meldungen: number; arten: number }[];
  for (const { x, y, meldungen, arten } of cells) {
    const box: Box = [x * cellSize, y * cellSize, (x + 1) * cellSize, (y + 1) * cellSize];
    const { lastInsertRowid } = insert.run(toSquare(box), x, y, meldungen, arten);
    index.run(lastInsertRowid, box[0], box[2], box[1], box[3]);
    extent.add(box);
  }
}

// Header of a geometry (2.1.3): magic, version 0, little endian without or with an envelope, the system.
const headerOf = (envelope: number[]) => {
  const header = Buffer.alloc(8 + envelope.length * 8);
  header.write('GP', 0, 'latin1');
  header[3] = envelope.length === 0 ? 0b0001 : 0b0011;
  header.writeInt32LE(srid, 4);
  for (const [at, value] of envelope.entries()) header.writeDoubleLE(value, 8 + at * 8);
  return header;
};
const pointHeader = headerOf([]).toString('hex');

function toSquare([minX, minY, maxX, maxY]: Box): Buffer {
  const ring = [minX, minY, maxX, minY, maxX, maxY, minX, maxY, minX, minY];
  const body = Buffer.alloc(13 + ring.length * 8);
  body[0] = 1;
  body.writeUInt32LE(3, 1);
  body.writeUInt32LE(1, 5);
  body.writeUInt32LE(ring.length / 2, 9);
  for (const [at, value] of ring.entries()) body.writeDoubleLE(value, 13 + at * 8);
  return Buffer.concat([headerOf([minX, maxX, minY, maxY]), body]);
}
