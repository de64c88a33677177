// Parameters and form parts of the interface's document: made from the schemas that check requests, so that the two can't
// disagree, and described in the words of users.
import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { listFeld } from '../../sichtbeobachtung-felder.ts';
import type { Entries } from '../wire/input.ts';
import type { Operation } from './operation.ts';
import type { Schema } from './schemas.ts';

const wildcard = 'ganzer Name, Groß- und Kleinschreibung egal, `%` steht für beliebige Zeichen';

// By name; where an operation means something of its own by a name, it says so itself.
const descriptions: Record<string, string> = {
  ...Object.fromEntries(listFeld().map(([name, { meaning }]) => [name, meaning])),
  anonymisiert: '1: anderen werden nur die Initialen gezeigt; 0: der volle Name.',
  art_id: 'Kennung der Art bei diesem Mandanten.',
  artengruppe: `Name der Artengruppe: ${wildcard}.`,
  artengruppe_id: 'Nummer der Artengruppe.',
  artengruppenbeschraenkung: 'Nummern von Artengruppen, mit Komma dazwischen; ersetzt die bisherigen, leer: keine.',
  audio: 'Tonaufnahme, höchstens 1 MB.',
  bbox: 'Ausschnitt `links,unten,rechts,oben` in EPSG:25832 (Meter).',
  bis: 'Bis wann die Adresse gilt, Sekunden seit 1970.',
  biotopfoto: 'Foto des Biotops, JPEG, höchstens 12 MB.',
  callback: 'Name der JavaScript-Funktion für JSONP; nur mit `format=json`.',
  cursor: 'Wo die Seite beginnt. Kommt aus `next` und gilt nur mit denselben Filtern unter demselben Host.',
  datum_bis: 'Bis zu diesem Tag einschließlich, `TT.MM.JJJJ`.',
  datum_von: 'Von diesem Tag an einschließlich, `TT.MM.JJJJ`.',
  email: 'E-Mail-Adresse.',
  eu_guid: 'Kennung der Art in der EU.',
  format: 'Format der Antwort.',
  foto: 'Erstes Foto, JPEG, höchstens 12 MB.',
  foto_2: 'Zweites Foto, JPEG, höchstens 12 MB.',
  foto_3: 'Drittes Foto, JPEG, höchstens 12 MB.',
  gid: 'Nummer der Artengruppe.',
  is_animal: 'Nur Tiere (`true`) oder nur Pflanzen, Pilze, Flechten (`false`).',
  jahr: 'Jahr der Beobachtung.',
  lanis_rlp_osiris_art_id: 'Veraltet: früherer Name von `legacy_regional_art_id`.',
  lanis_rlp_osiris_artengruppe_id: 'Veraltet: früherer Name von `legacy_regional_artengruppe_id`.',
  legacy_regional_art_id: 'Veraltet: `art_id` benutzen.',
  legacy_regional_artengruppe_id: 'Veraltet: `artengruppe_id` benutzen.',
  leser: 'Konto, für das die Adresse gilt.',
  limit: 'Höchstzahl der Datensätze auf einer Seite.',
  loginname: "Anmeldename: Buchstaben, Ziffern, Leerzeichen und `. - ' _`.",
  mandantenbeschraenkung: 'Kürzel von Mandanten, mit Komma dazwischen; ersetzt die bisherigen, leer: keine.',
  mandant: 'Kürzel eines Mandanten, in dessen Gebiet die Beobachtung liegt.',
  nachname: 'Nachname.',
  name_regexp_ci:
    'Regulärer Ausdruck von PostgreSQL, Groß- und Kleinschreibung egal; gesucht wird in jedem der beiden Namen für sich.',
  password: 'SHA-1 des Passworts, 40 Hexadezimalziffern.',
  passwort: 'SHA-1 des neuen Passworts, 40 Hexadezimalziffern.',
  'portal-name': 'Name der Website, von der die Registrierung kommt.',
  'portal-url': 'Adresse der Website, von der die Registrierung kommt (http oder https).',
  restrict: 'Felder der Antwort, mit Komma dazwischen; alle anderen Felder fehlen dann. Leer: alle.',
  rollen: '`expert`, `administrator` oder beide mit Komma dazwischen; ersetzt die bisherigen, leer: keine.',
  status: 'Stand der Prüfung.',
  signatur: 'Was die Adresse gültig macht.',
  status_aenderung: 'Der neue Status.',
  titel_deutsch: `Deutscher Name der Art: ${wildcard}.`,
  titel_wissenschaftlich: `Wissenschaftlicher Name der Art: ${wildcard}.`,
  uid: 'Nummer des Kontos, das gemeldet hat.',
  vorname: 'Vorname.',
};

export interface Part {
  name: string;
  required: boolean;
  description: string;
  schema: Schema;
}

/** The names that a set of fields takes, each with its JSON schema. */
export function describeEntries(entries: Entries, meanings?: Operation['meanings']): Part[] {
  const { properties = {}, required = [] } = toJsonSchema(v.object(entries), {
    target: 'draft-2020-12',
    typeMode: 'input',
    errorMode: 'ignore',
  });
  return Object.entries(properties).map(([name, property]) => {
    const { schema, hint } = toWireSchema(property as Schema);
    const example = Array.isArray(schema.examples) ? ` Beispiel: \`${schema.examples[0]}\`.` : '';
    return {
      name,
      required: required.includes(name),
      description: `${describe(name, meanings)}${example}${hint(name)}`,
      schema,
    };
  });
}

export function describe(name: string, meanings: Operation['meanings'] = {}): string {
  const description = meanings[name] ?? descriptions[name];
  if (description === undefined) throw new Error(`parameter ${name} has no description`);
  return description;
}

export function isDeprecated(name: string): boolean {
  return descriptions[name]?.startsWith('Veraltet') ?? false;
}

// A field that may be sent empty is a union of '' and its values: the document shows the values and says the rest in words.
function toWireSchema({ anyOf, empty, default: standard, ...plain }: Schema): { schema: Schema; hint: (name: string) => string } {
  const options = (anyOf as Schema[] | undefined) ?? [plain];
  const { pattern, ...schema } = options.find((option) => option.const !== '') ?? plain;
  const isString = schema.type === 'string';
  if (isString && pattern !== undefined) schema.pattern = pattern;
  const value = standard === '' ? empty : standard;
  if (value !== undefined && value !== null) schema.default = isString || typeof value !== 'string' ? value : Number(value);
  const isChange = empty !== undefined && standard === undefined;
  const sentEmpty = empty === null ? 'der Wert wird entfernt' : `\`${empty}\``;
  // An empty date is today: its description says so.
  return { schema, hint: (name) => (isChange && name !== 'datum' ? ` Leer gesendet: ${sentEmpty}.` : '') };
}
