// A GeoPackage as an office opens it (O5): https://www.geopackage.org/spec131/. Written by SQLite itself, so that no program is needed.
import { DatabaseSync } from 'node:sqlite';
import type { ExportUmfang } from '../db/export-rows.ts';
import { readValues } from '../db/export-rows.ts';
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
    db.exec('pragma journal_mode = off; pragma synchronous = off; pragma page_size = 4096; pragma cache_size = -32768');
    db.exec(schemaOf(gpkgColumns));
    db.exec('begin');
    const names = Object.keys(gpkgColumns);
    const insert = db.prepare(
      `insert into beobachtung (id, geom, ${names.join(', ')}) values (?, ?${', ?'.repeat(names.length)})`,
    );
    const index = { beobachtung: prepareIndex(db, 'beobachtung'), zelle: prepareIndex(db, 'zelle') };
    const extents = { beobachtung: new Extent(), zelle: new Extent() };
    const unschaerfeAt = names.indexOf('unschaerfe_m');
    const cells = new CellWriter(db, (id, box) => {
      index.zelle.run(id, box[0], box[2], box[1], box[3]);
      extents.zelle.add(box);
    });
    const [artAt, xAt, yAt] = ['art', 'cell_x', 'cell_y'].map((name) => names.indexOf(name)) as [number, number, number];
    for await (const rows of readValues(tx, source, names)) {
      for (const [id, x, y, ...values] of rows) {
        const [easting, northing] = [Number(x), Number(y)];
        insert.run(Number(id), toPoint(easting, northing), ...values);
        index.beobachtung.run(Number(id), easting, easting, northing, northing);
        extents.beobachtung.add([easting, northing, easting, northing]);
        if (values[unschaerfeAt] !== '0') cells.count(Number(values[xAt]), Number(values[yAt]), values[artAt] ?? '');
      }
      await count(rows.length);
    }
    cells.finish();
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

const prepareIndex = (db: DatabaseSync, layer: string) =>
  db.prepare(`insert into rtree_${layer}_geom (id, minx, maxx, miny, maxy) values (?, ?, ?, ?, ?)`);

class Extent {
  box: Box | null = null;
  add([minX, minY, maxX, maxY]: Box): void {
    const { box } = this;
    this.box = box
      ? [Math.min(box[0], minX), Math.min(box[1], minY), Math.max(box[2], maxX), Math.max(box[3], maxY)]
      : [minX, minY, maxX, maxY];
  }
}

/** Counts masked records by cell; rows come by cell, so that one is known at a time. */
class CellWriter {
  readonly #insert;
  readonly #onCell;
  #cell: { x: number; y: number; meldungen: number; arten: Set<string> } | null = null;
  #id = 0;
  constructor(db: DatabaseSync, onCell: (id: number, box: Box) => void) {
    this.#insert = db.prepare('insert into zelle (id, geom, cell_x, cell_y, meldungen, arten) values (?, ?, ?, ?, ?, ?)');
    this.#onCell = onCell;
  }
  count(x: number, y: number, art: string): void {
    if (this.#cell?.x !== x || this.#cell.y !== y) {
      this.finish();
      this.#cell = { x, y, meldungen: 0, arten: new Set() };
    }
    this.#cell.meldungen++;
    this.#cell.arten.add(art);
  }
  finish(): void {
    if (!this.#cell) return;
    const { x, y, meldungen, arten } = this.#cell;
    const box: Box = [x * cellSize, y * cellSize, (x + 1) * cellSize, (y + 1) * cellSize];
    this.#insert.run(++this.#id, toSquare(box), x, y, meldungen, arten.size);
    this.#onCell(this.#id, box);
    this.#cell = null;
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
const pointHeader = headerOf([]);

function toPoint(x: number, y: number): Buffer {
  const point = Buffer.alloc(29);
  pointHeader.copy(point);
  point[8] = 1;
  point.writeUInt32LE(1, 9);
  point.writeDoubleLE(x, 13);
  point.writeDoubleLE(y, 21);
  return point;
}

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
