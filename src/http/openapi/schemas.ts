// The records of the interface as JSON schemas, for the document. Members stand in the order in which the
// service writes them (D2.18).
import { type FeldName, listFeld } from '../../sichtbeobachtung-felder.ts';
import { catalogue } from '../wire/portal-error.ts';

/** A JSON schema. */
export type Schema = { [keyword: string]: unknown };

const string = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more });
const integer = (description: string, more: Schema = {}): Schema => ({ type: 'integer', description, ...more });
const boolean = (description: string): Schema => ({ type: 'boolean', description });
const orNull = (schema: Schema): Schema => ({ ...schema, type: [schema.type, 'null'] });
const list = (items: Schema, description: string): Schema => ({ type: 'array', description, items });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** @param optional members that only some readers get */
function record(description: string, properties: Record<string, Schema>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', description, properties, required };
}

const day = (description: string) => string(description, { pattern: '^\\d{2}\\.\\d{2}\\.\\d{4}$', examples: ['01.09.2026'] });
const time = (description: string) => string(description, { pattern: '^\\d{2}:\\d{2}:\\d{2}$', examples: ['14:05:09'] });
const statusWords = ['Freigegeben', 'In Prüfung', 'Mit Hinweis', 'Abgelehnt'];
const media = (description: string) => orNull(string(`Adresse ${description}`, { format: 'uri' }));

const nutzer = {
  id: integer('Nummer des Kontos'),
  loginname: string('Anmeldename'),
  email: orNull(string('E-Mail-Adresse')),
  nachname: orNull(string('Nachname')),
  vorname: orNull(string('Vorname')),
  anonymisiert: integer('1: der Name wird anderen nur als Initialen gezeigt', { enum: [0, 1] }),
  status: integer('0 gesperrt, 1 aktiv', { enum: [0, 1] }),
};

const art = {
  id: integer('Nummer der Art; sie ist das Feld art beim Melden'),
  eu_guid: orNull(string('Kennung der Art in der EU')),
  art_id: string('Kennung der Art bei diesem Mandanten'),
  name_wissenschaftlich: string('Wissenschaftlicher Name, wie ihn dieser Mandant führt'),
  name_deutsch: orNull(string('Deutscher Name, wie ihn dieser Mandant führt; viele Arten haben keinen')),
  artengruppe: string('Name der Artengruppe'),
  gid: integer('Nummer der Artengruppe'),
  is_animal: boolean('Tier (true) oder Pflanze, Pilz, Flechte (false)'),
  sensibel: boolean('Die Art ist bei diesem Mandanten naturschutzfachlich sensibel'),
};

// What only authenticated readers get.
const forReaders = ['erfasser', 'uid', 'experte', 'bemerkung_experte'];

// Fields that are shown as they were sent.
const shownFelder = new Map(listFeld().flatMap(([name, feld]) => (feld.shown ? [[name, { ...feld, ...feld.shown }]] : [])));

function shown(name: FeldName): Schema {
  const feld = shownFelder.get(name);
  if (!feld) throw new Error(`${name} is not shown as it was sent`);
  const schema = schemasOfKind[feld.kind](feld.meaning);
  return feld.empty === null ? orNull(schema) : schema;
}

const schemasOfKind = {
  id: integer,
  integer,
  number: (description: string): Schema => ({ type: 'number', description }),
  boolean,
  date: day,
  text: string,
  word: string,
};

const coordinate = (axis: string): Schema => {
  const description = `${axis} in EPSG:25832 (Meter); bei geschützten Funden die Mitte der Rasterzelle`;
  return { type: 'number', format: 'double', description };
};

const sichtbeobachtungDetail: Record<string, Schema> = {
  id: integer('Nummer der Beobachtung'),
  guid: string('UUID der Beobachtung (Version 5)', { format: 'uuid' }),
  bereich: string('Bereich', { enum: ['Öffentliche Meldungen', 'Persönliche Erfassungen'] }),
  status: string('Stand der Prüfung', { enum: statusWords }),
  erfasser: orNull(string('Wer gemeldet hat (nur angemeldet); bei anonymisierten Konten Initialen')),
  uid: integer('Konto, das gemeldet hat (nur angemeldet)'),
  experte: orNull(string('Wer freigegeben hat (nur angemeldet)')),
  anzahl: string('Anzahl der Individuen', { examples: ['1'] }),
  lat: coordinate('Hochwert'),
  lon: coordinate('Rechtswert'),
  datum: day('Tag der Beobachtung'),
  titel_deutsch: orNull(string('Deutscher Name der Art; viele haben keinen')),
  titel_wissenschaftlich: string('Wissenschaftlicher Name der Art'),
  eu_guid: orNull(string('Kennung der Art in der EU')),
  foto: media('des ersten Fotos'),
  foto_2: media('des zweiten Fotos'),
  foto_3: media('des dritten Fotos'),
  biotopfoto: media('des Fotos vom Biotop'),
  audio: media('der Tonaufnahme'),
  bemerkung: shown('bemerkung'),
  bemerkung_experte: orNull(string('Bemerkung der prüfenden Person (nur angemeldet)')),
  phaenogramm: boolean('Der Fund zählt im Phänogramm'),
  art_id: orNull(string('Kennung der Art bei diesem Mandanten; null, wenn er die Art nicht führt')),
  legacy_regional_art_id: { ...orNull(integer('Veraltet: art_id benutzen')), deprecated: true },
  is_animal: boolean('Tier (true) oder Pflanze, Pilz, Flechte (false)'),
  is_rasterized: boolean('lat und lon sind die Mitte einer Rasterzelle von 5 × 5 km'),
  sensible_art: boolean('Die Art ist hier naturschutzfachlich sensibel'),
  sensibel: shown('sensibel'),
  stadium: orNull(string('Entwicklungsstadium')),
  stadium_id: shown('stadium_id'),
  aktivitaet: orNull(string('Aktivität')),
  aktivitaet_id: shown('aktivitaet_id'),
  artengruppe: string('Name der Artengruppe'),
  artengruppe_id: integer('Nummer der Artengruppe'),
  legacy_regional_artengruppe_id: { ...orNull(integer('Veraltet: artengruppe_id benutzen')), deprecated: true },
  mandanten: list(
    record('Mandant', { kuerzel: string('Kürzel'), name: string('Name') }),
    'Mandanten, in deren Gebiet der Fund liegt; bei geschützten Funden alle, die die Rasterzelle berührt',
  ),
  // At the end, those that have no place of their own above.
  ...Object.fromEntries([...shownFelder.keys()].map((name) => [name, shown(name)])),
};
const detailOnly: string[] = [
  ...['experte', 'eu_guid', 'stadium', 'aktivitaet', 'artengruppe', 'artengruppe_id'],
  ...['legacy_regional_artengruppe_id', 'mandanten'],
  ...[...shownFelder].flatMap(([name, { inLists }]) => (inLists ? [] : [name])),
];
const sichtbeobachtung = Object.fromEntries(
  Object.entries(sichtbeobachtungDetail).filter(([name]) => !detailOnly.includes(name)),
);

const portraitText = (about: string) => orNull(string(about));

/** Everything under components/schemas. */
export const recordSchemas: Record<string, Schema> = {
  Anmeldung: record('Eine gelungene Anmeldung', {
    name: string('Vor- und Nachname'),
    id: integer('Nummer des Kontos'),
    token: string('Zugangsschlüssel für X-Auth-Token'),
    loginname: string('Anmeldename, für X-Auth-User'),
  }),
  Registrierung: record('Eine angenommene Registrierung', {
    login: string('Anmeldename'),
    name: string('Vor- und Nachname'),
    email: string('Adresse, an die der Link zum Festlegen des Passworts geht'),
  }),
  Nutzer: record('Ein Konto in der Liste', nutzer),
  NutzerDetail: record('Ein Konto', {
    id: nutzer.id,
    loginname: nutzer.loginname,
    email: nutzer.email,
    vorname: nutzer.vorname,
    nachname: nutzer.nachname,
    anonymisiert: nutzer.anonymisiert,
    status: nutzer.status,
    rollen: list({ type: 'string', enum: ['administrator', 'expert'] }, 'Rollen des Kontos'),
    artengruppenbeschraenkung: list({ type: 'integer' }, 'Artengruppen, auf die ein Experte beschränkt ist; leer: auf keine'),
    mandantenbeschraenkung: list(
      { type: 'string' },
      'Mandanten, auf die ein Experte beschränkt ist, als Abkürzungen; leer: auf keine',
    ),
    medien_lizenz: orNull(string('Lizenz der eigenen Fotos und Tonaufnahmen; null: alle Rechte vorbehalten')),
    mail_abgelehnt: boolean(
      'Der Mailserver nimmt für die Adresse nichts an: Das Konto bekommt keine Mitteilungen, bis die Adresse oder die Einstellung geändert wird',
    ),
  }),
  Artengruppe: record('Eine Artengruppe', {
    id: integer('Nummer der Artengruppe'),
    name_deutsch: string('Name'),
    is_animal: boolean('Tiere (true) oder Pflanzen, Pilze, Flechten (false)'),
  }),
  Art: record('Eine Art in der Liste', art),
  ArtDetail: record('Eine Art mit ihrem Porträt', {
    ...art,
    bluetenmerkmale: portraitText('Blütenmerkmale'),
    bluetezeit: portraitText('Blütezeit'),
    fortpflanzung: portraitText('Fortpflanzung'),
    gefaehrdung: portraitText('Gefährdung'),
    lebensraum: portraitText('Lebensraum'),
    nahrung: portraitText('Nahrung'),
    oekologie: portraitText('Ökologie'),
    quelle: portraitText('Quelle'),
    ueberregionale_verbreitung: portraitText('Überregionale Verbreitung'),
    regionale_verbreitung: portraitText('Verbreitung im Gebiet dieses Mandanten'),
    schutzwuerdigkeit_und_schutzstatus: portraitText('Schutzwürdigkeit und Schutzstatus'),
    vegetative_merkmale: portraitText('Vegetative Merkmale'),
    verhalten: portraitText('Verhalten'),
    foto: list(ref('ArtFoto'), 'Fotos der Art'),
    verwechslungsgefahr: record('Arten, mit denen man sie verwechseln kann', {
      beschreibung: portraitText('Woran man sie unterscheidet'),
      art: list(record('Ähnliche Art', { aid: integer('Nummer der Art') }), 'Ähnliche Arten'),
      foto: list(ref('ArtFoto'), 'Fotos zum Vergleich'),
    }),
  }),
  ArtFoto: record('Ein Foto zu einer Art', {
    uri: portraitText('Adresse des Fotos'),
    autor: portraitText('Wer es aufgenommen hat'),
    lizenz: portraitText('Lizenz'),
    bildunterschrift: portraitText('Bildunterschrift'),
  }),
  Stadium: record('Ein Entwicklungsstadium', {
    id: integer('Nummer des Stadiums'),
    name: string('Name'),
    phaenogramm: boolean('Funde in diesem Stadium zählen im Phänogramm'),
  }),
  Aktivitaet: record('Eine Aktivität', { id: integer('Nummer der Aktivität'), name: string('Name') }),
  Sichtbeobachtung: record('Eine Beobachtung in der Liste', sichtbeobachtung, forReaders),
  SichtbeobachtungDetail: record('Eine Beobachtung', sichtbeobachtungDetail, forReaders),
  NeueSichtbeobachtung: record('Was gespeichert wurde', {
    id: integer('Nummer der Beobachtung'),
    guid: string('UUID der Beobachtung', { format: 'uuid' }),
    url: string('Adresse der Beobachtung', { format: 'uri' }),
  }),
  Kennung: record('Der betroffene Datensatz', { id: integer('Nummer des Datensatzes') }),
  Leer: record('Eine Zeile, die nie vorkommt: die Liste ist immer leer', {}),
  Protokolleintrag: record('Eine Änderung an einer Beobachtung', {
    audit: string('Was geschah', { enum: ['CREATE', 'UPDATE', 'DELETE'] }),
    id: integer('Nummer der Beobachtung'),
    datum: day('Tag der Änderung'),
    uhrzeit: time('Uhrzeit der Änderung (Europe/Berlin)'),
  }),
  QsEintrag: record('Ein Wechsel des Status', {
    id: integer('Nummer der Beobachtung'),
    uid: integer('Konto, das gemeldet hat'),
    datum: day('Tag des Wechsels'),
    uhrzeit: time('Uhrzeit des Wechsels (Europe/Berlin)'),
    status_aenderung: string('Der neue Status', { enum: statusWords }),
    aid: integer('Nummer der Art'),
    datum_beobachtung: day('Tag der Beobachtung'),
    experte_uid: orNull(integer('Konto, das freigegeben oder abgelehnt hat')),
  }),
  Fehler: record('Ein Fehler', {
    error: record('Was schiefging', {
      status: integer('HTTP-Status', { minimum: 400, maximum: 599 }),
      code: string('Beständige Kennung des Fehlers', { enum: Object.keys(catalogue) }),
      message: string('Deutscher Satz für Menschen'),
      fields: {
        type: 'object',
        description: 'Je betroffenem Feld ein Satz; bei doppelte_meldung in id die Nummer der vorhandenen Beobachtung',
        additionalProperties: { type: ['string', 'integer'] },
      },
    }),
  }),
  Xml: string(
    'Dasselbe als XML (format=xml): Wurzel xml, bei Anmeldung und Registrierung result. In result steht je Datensatz ein row; Wahrheitswerte sind TRUE und FALSE, Listen verschachtelte row, leere Werte leere Elemente, next steht in CDATA.',
  ),
  Jsonp: string('Dasselbe JSON als Aufruf der Funktion, die callback nennt: callback(…);'),
};

/** `{ result: […], next }`: the shape of lists and of single records. */
export function resultSchema(name: string, isList: boolean): Schema {
  const result = { type: 'array', items: ref(name), ...(!isList && { maxItems: 1 }) };
  const next = string('Adresse der nächsten Seite; fehlt auf der letzten', { format: 'uri' });
  return { type: 'object', properties: { result, ...(isList && { next }) }, required: ['result'] };
}
