// What /ogc offers: sightings, counts by the squares of grids, tenants (O2). One entry each: what it is called, what it may be asked
// for, what its features have, and what reads them.
import * as v from 'valibot';
import {
  type FeaturePage,
  type FeatureQuery,
  type Form,
  type Gitter,
  getMandantFeature,
  getRasterFeature,
  getSichtbeobachtungFeature,
  getVerbreitungFeature,
  listMandantFeature,
  listRasterFeature,
  listSichtbeobachtungFeature,
  listVerbreitungFeature,
  type OutputSystem,
} from '../../../db/ausgabe-ogc.ts';
import type { Sql } from '../../../db/client.ts';
import type { Versioned } from '../../../db/page.ts';
import * as field from '../../wire/fields.ts';
import type { Entries } from '../../wire/input.ts';

/** A property of a feature, as JSON schema. */
export interface Property {
  type: 'integer' | 'string' | 'boolean';
  format?: string;
  nullable?: true;
  description: string;
}

export interface Collection {
  id: string;
  title: string;
  description: string;
  properties: Record<string, Property>;
  /** Filters beside those that every collection has. */
  filters: Entries;
  idType: 'integer' | 'string';
  /** What a feature's id is. */
  idDescription: string;
  geometry: string;
  /** Metres around all sightings within which its features lie. */
  margin: number;
  /** Whether its features have a time. */
  isTimed: boolean;
  /** What a key of a page looks like. */
  key(hasArea: boolean): RegExp;
  list(sql: Sql, query: FeatureQuery): Promise<Versioned<FeaturePage>>;
  /** Null for what is no id. */
  get(sql: Sql, id: string, system: OutputSystem): Promise<Versioned<Buffer | null> | null>;
}

const yearField = v.optional(field.integer(1, 9999));
const speciesFilters = { art: v.optional(field.id), artengruppe_id: v.optional(field.id) };

const integer = (description: string): Property => ({ type: 'integer', description });
const text = (description: string): Property => ({ type: 'string', nullable: true, description });

const sichtbeobachtungOf = (form: Form, title: string, description: string, geometry: string): Collection => ({
  id: form === null ? 'sichtbeobachtung' : `sichtbeobachtung_${form}`,
  title,
  description,
  properties: {
    id: integer('Nummer der Meldung'),
    guid: { type: 'string', format: 'uuid', description: 'bleibende Kennung der Meldung' },
    art: integer('Nummer der Art'),
    name_deutsch: text('deutscher Name der Art'),
    name_wissenschaftlich: { type: 'string', description: 'wissenschaftlicher Name der Art' },
    gid: integer('Nummer der Artengruppe'),
    artengruppe: text('Name der Artengruppe'),
    is_animal: { type: 'boolean', nullable: true, description: 'ob es Tiere sind' },
    datum: { type: 'string', format: 'date', description: 'Tag der Beobachtung' },
    jahr: integer('Jahr der Beobachtung'),
    anzahl: integer('Anzahl der Individuen'),
    stadium: text('Entwicklungsstadium'),
    aktivitaet: text('Aktivität'),
    bemerkung: text('Bemerkung; bei geschützten Funden leer'),
    unschaerfe_m: integer('0: der Ort ist der gemeldete; 3536: er liegt irgendwo im gezeigten Quadrat'),
    cell_x: integer('Spalte der Rasterzelle von 5 km (EPSG:25832)'),
    cell_y: integer('Zeile der Rasterzelle von 5 km (EPSG:25832)'),
    phaenogramm: { type: 'boolean', description: 'ob die Meldung in der Jahreskurve zählt' },
    geaendert: { type: 'string', format: 'date', description: 'Tag, an dem sich zuletzt etwas davon geändert hat' },
  },
  filters: { ...speciesFilters, jahr: yearField, mandant: v.optional(field.text('das Kürzel eines Mandanten')) },
  idType: 'integer',
  idDescription: 'Nummer der Meldung',
  geometry,
  margin: 0,
  isTimed: true,
  key: (hasArea) => (hasArea ? /^-?\d{1,9}_-?\d{1,9}_\d{1,16}$/ : /^\d{1,16}$/),
  list: (sql, query) => listSichtbeobachtungFeature(sql, form, query),
  async get(sql, id, system) {
    return /^\d{1,15}$/.test(id) ? getSichtbeobachtungFeature(sql, form, Number(id), system) : null;
  },
});

/** Codes of squares, which name where a page begins. */
const keys: Record<Gitter, RegExp> = {
  '5km': /^-?\d{1,7}\/-?\d{1,7}$/,
  eea10: /^10kmE\d{1,4}N\d{1,4}$/,
  mtb: /^\d{4}$/,
  mtbq: /^\d{4}\/[1-4]$/,
};

function rasterOf(gitter: Gitter, id: string, title: string, square: string, code: string): Collection {
  return {
    id,
    title,
    description: `Wie viele öffentliche freigegebene Meldungen in ${square} liegen. Geschützte Funde zählen am Ort, den alle sehen: in der Mitte ihrer Rasterzelle von 5 km; verschleiert sagt, wie viele das sind. datetime und die Jahre wählen ganze Jahre.`,
    properties: {
      code: { type: 'string', description: code },
      meldungen: integer('Anzahl der Meldungen'),
      arten: integer('Anzahl der Arten'),
      erstes_jahr: integer('Jahr der ersten Beobachtung'),
      letztes_jahr: integer('Jahr der letzten Beobachtung'),
      verschleiert: integer('wie viele der Meldungen geschützt sind und deshalb auch daneben liegen können'),
    },
    filters: { ...speciesFilters, jahr_von: yearField, jahr_bis: yearField },
    idType: 'string',
    idDescription: code,
    geometry: `Fläche: ${square}`,
    // From a cell to the far corner of a sheet that it touches.
    margin: gitter === '5km' ? 0 : 16_000,
    isTimed: true,
    key: () => keys[gitter],
    list: (sql, query) => listRasterFeature(sql, gitter, query),
    async get(sql, code, system) {
      // Some proxies refuse a slash in an id, however it is written (O2.15).
      return code.length <= 30 ? getRasterFeature(sql, gitter, code.replace(/^(-?\d+)-(?=-?\d+$)/, '$1/'), system) : null;
    },
  };
}

const maxId = 2147483647;
const verbreitungId = /^(10kmE\d{1,4}N\d{1,4})-(\d{1,10})$/;

const verbreitung: Collection = {
  id: 'verbreitung_eea10',
  title: 'Verbreitung der Arten',
  description:
    'Welche Arten in welchem Quadrat von 10 km des europäischen Gitters gemeldet sind: ein Objekt je Quadrat und Art. Geschützte Funde zählen am Ort, den alle sehen: in der Mitte ihrer Rasterzelle von 5 km; verschleiert sagt, wie viele das sind. datetime und die Jahre wählen ganze Jahre.',
  properties: {
    id: { type: 'string', description: 'Quadrat und Art: 10kmE432N312-17' },
    code: { type: 'string', description: 'Kennung des Quadrats: 10kmE432N312' },
    art: integer('Nummer der Art'),
    name_deutsch: text('deutscher Name der Art'),
    name_wissenschaftlich: { type: 'string', description: 'wissenschaftlicher Name der Art' },
    gid: integer('Nummer der Artengruppe'),
    artengruppe: text('Name der Artengruppe'),
    meldungen: integer('Anzahl der Meldungen'),
    erstes_jahr: integer('Jahr der ersten Beobachtung'),
    letztes_jahr: integer('Jahr der letzten Beobachtung'),
    verschleiert: integer('wie viele der Meldungen geschützt sind und deshalb auch daneben liegen können'),
  },
  filters: { ...speciesFilters, jahr_von: yearField, jahr_bis: yearField },
  idType: 'string',
  idDescription: 'Quadrat und Art: 10kmE432N312-17',
  geometry: 'Fläche: Quadrat des europäischen Gitters',
  margin: 16_000,
  isTimed: true,
  key: () => verbreitungId,
  list: listVerbreitungFeature,
  async get(sql, id, system) {
    const [, code, art] = verbreitungId.exec(id) ?? [];
    return code === undefined || Number(art) > maxId ? null : getVerbreitungFeature(sql, code, Number(art), system);
  },
};

const mandant: Collection = {
  id: 'mandant',
  title: 'Mandanten',
  description: 'Die Portale dieses Dienstes mit ihren Grenzen.',
  properties: {
    id: integer('Nummer des Mandanten'),
    kuerzel: { type: 'string', description: 'Kürzel, wie es der Filter mandant nimmt' },
    name: { type: 'string', description: 'Name' },
    quelle: { type: 'string', description: 'woher die Grenze ist' },
    stand: { type: 'string', format: 'date-time', description: 'seit wann die Grenze so ist' },
  },
  filters: {},
  idType: 'string',
  idDescription: 'Kürzel des Mandanten',
  geometry: 'Fläche, auch aus mehreren Teilen',
  margin: 0,
  isTimed: false,
  key: () => /^[^\0]{1,200}$/u,
  list: listMandantFeature,
  async get(sql, kuerzel, system) {
    return kuerzel.length <= 200 ? getMandantFeature(sql, kuerzel, system) : null;
  },
};

const protectedSquare =
  'das Quadrat der Rasterzelle von 5 km, in der sie liegen (unschaerfe_m ist dann 3536), und keine Bemerkung.';

export const collections: readonly Collection[] = [
  sichtbeobachtungOf(
    null,
    'Sichtbeobachtungen',
    `Öffentliche freigegebene Meldungen. Von geschützten Funden zeigt sie statt eines Punktes ${protectedSquare}`,
    'Punkt; bei geschützten Funden das Quadrat der Rasterzelle',
  ),
  sichtbeobachtungOf(
    'punkt',
    'Sichtbeobachtungen: Punkte',
    'Nur die Meldungen mit genauem Ort, für Programme, die in einer Ebene nur Punkte haben. Geschützte Funde stehen in sichtbeobachtung_quadrat.',
    'Punkt',
  ),
  sichtbeobachtungOf(
    'quadrat',
    'Sichtbeobachtungen: Quadrate',
    `Nur die geschützten Funde, für Programme, die in einer Ebene nur Flächen haben: statt eines Punktes ${protectedSquare}`,
    'Quadrat der Rasterzelle',
  ),
  rasterOf('5km', 'raster_5km', 'Raster 5 km', 'jeder Rasterzelle von 5 km (EPSG:25832)', 'Spalte und Zeile der Zelle: 80/1096'),
  rasterOf(
    'eea10',
    'raster_eea10',
    'EEA-Referenzgitter 10 km',
    'jedem Quadrat des europäischen Gitters',
    'Kennung: 10kmE432N312',
  ),
  rasterOf('mtb', 'raster_mtb', 'Messtischblätter (TK25)', 'jedem Blatt der TK25', 'Nummer des Blatts: 6517'),
  rasterOf('mtbq', 'raster_mtbq', 'Quadranten der TK25', 'jedem Quadranten der TK25', 'Blatt und Quadrant: 6517/3'),
  verbreitung,
  mandant,
];
