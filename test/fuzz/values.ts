// Values of parameters: those that the description allows, and those that nobody should send.
import type { Dice } from '../support/dice.ts';
import { escapeText } from './encode.ts';
import type { Field, World } from './world.ts';

/** A text to be escaped, or what stands in the address as it is. */
export type Value = { text: string } | { raw: string };

export const writePair = (name: string, value: Value) => `${name}=${'text' in value ? escapeText(value.text) : value.raw}`;

const names = ['Uhu', 'Rotmilan', 'wanderfalke', 'rot%', '%a%', 'vespa%velutina', 'Säugetiere', 'Bubo bubo', 'Käfer', ''];
const dates = ['1.1.2021', '15.6.2022', '31.12.2023', '29.2.2024', '01.05.2025'];
const expressions = ['^amsel', 'a|b', '[aeiou]{3}', '(rot|blau).*', '\\m[[:upper:]]', '.*e.*e.*e', 'ß?$', '(a+)+$'];

/** A value within the type and bounds of a field. */
export function makeValid(dice: Dice, { name, schema }: Field, world: World): string {
  const whole = (min: number, max: number) => String(min + dice.below(max - min + 1));
  const known: Record<string, () => string> = {
    art: () => whole(1, 700),
    lat: () => (5_450_000 + dice.below(300_000)).toString(),
    lon: () => (330_000 + dice.below(150_000)).toString(),
    srid: () => 'EPSG:25832',
    datum: () => dice.pick(dates),
    datum_von: () => dice.pick(dates.slice(0, 2)),
    datum_bis: () => dice.pick(dates.slice(2)),
    bbox: () => {
      const [x, y, size] = [300_000 + dice.below(200_000), 5_450_000 + dice.below(200_000), dice.pick([10, 3000, 80_000])];
      return [x, y, x + size, y + size].join(',');
    },
    name_regexp_ci: () => dice.pick(expressions),
    titel_deutsch: () => dice.pick(names),
    titel_wissenschaftlich: () => dice.pick(names),
    artengruppe: () => dice.pick(names),
    art_id: () => `RP-00${whole(100, 700)}`,
    artengruppe_id: () => whole(1, 20),
    gid: () => whole(1, 20),
    mandant: () => dice.pick(['RP', 'HE', 'by', 'nw']),
    restrict: () => dice.pick(['id', 'id,lat,lon', 'guid, datum ,', 'mandanten,foto', 'nichts']),
    callback: () => dice.pick(['f', 'jQuery_1.cb', '$', 'a'.repeat(64)]),
    format: () => dice.pick(['json', 'xml']),
    limit: () => dice.pick(['1', '2', '7', '50', '100', '300', '1000']),
    cursor: () => /cursor=([^&]+)/.exec(dice.pick(world.nexts))?.[1] ?? '',
    stadium_id: () => whole(1, 16),
    aktivitaet_id: () => whole(1, 16),
    bemerkung: () => dice.pick(['am Ufer', 'ein "Satz" & <mehr>', ']]> \u2028 é', '', 'x'.repeat(1900)]),
    email: () => `f${whole(1, 99_999)}@example.org`,
    loginname: () => `fremd ${whole(1, 99_999)}`,
    vorname: () => dice.pick(['Änne', 'O\u2019Neil', 'Zoe\u0308']),
    nachname: () => dice.pick(['Groß', 'von der Heide', '李']),
    'portal-url': () => 'https://portal.example/',
    rollen: () => dice.pick(['', 'expert']),
    artengruppenbeschraenkung: () => dice.pick(['', '1,2', '3, 3,4']),
    password: () => Array.from({ length: 40 }, () => dice.pick([...'0123456789abcdef'])).join(''),
    passwort: () => world.throwaways[1]?.sha1 ?? '',
    'If-None-Match': () => dice.pick([...world.tags, '*', '"x"', `W/${world.tags[0]}`]),
  };
  const make = known[name];
  if (make) return make();
  if (Array.isArray(schema.enum)) return String(dice.pick(schema.enum));
  if (schema.type === 'boolean') return dice.pick(['true', 'false', 'TRUE', '0', '1']);
  if (schema.type === 'integer') return whole(Number(schema.minimum ?? 0), Math.min(Number(schema.maximum ?? 3000), 3000));
  if (schema.type === 'number') return String(dice.roll() * 1000);
  return 'x'.repeat(1 + dice.below(Math.min(Number(schema.maxLength ?? 20), 20)));
}

/** Each has brought down some service, or made it slow. */
const oddities: readonly Value[] = [
  ...['', ' ', 'null', 'undefined', 'NaN', '-1', '0', '-0', '+5', ' 7 ', '1e3', '1e999', '-1e308', '1e-400'],
  ...['0x10', '1_000', '١٢٣', '2147483648', '9007199254740993', '99999999999999999999', '1.5', '1,5', '.', '1.', '{}', '[]'],
  ...['[object Object]', 'true,false', '31.02.2024', '1.1.10000', '00.00.0000', '29.2.1900', '1.1.0001', '1.1.1799'],
  ...['31.12.9999', '2024-01-01', '__proto__', 'constructor', 'toString', 'hasOwnProperty', "' or 1=1 --", '$1', '%', '%%'],
  ...['"; drop table x; --', '_', '\\', '\\\\%', 'EPSG:0', 'EPSG:4326 ', 'oeffentlich\n', 'ＦＲＥＩ', 'İ', 'ﬃ', '\u202eabc'],
  ...['\u200b', '\ufeff', '\ufffe', '\uffff', '\u0085', '😀', '👩‍👩‍👧', 'ﷺ', ']]>', '<![CDATA[', '</script><script>'],
  ...['&amp;&#0;', '\u2028\u2029', '\r\nX-Injected: 1', '\0', 'a\0b', '\x1b[31m', '../../etc/passwd', '1,2,3', '1,2,3,4,5'],
  ...['4,3,2,1', '0,0,0,0', 'NaN,NaN,NaN,NaN', '-1e300,-1e300,1e300,1e300', ',,,', '1,2,3,1e999', '(', ')', '[', '*'],
  ...['a{2,1}', 'a{65536}', '(?i)a', '***=a', '(a)\\1', '[[:foo:]]', '[[.a.]]', '[[=a=]]', '\\y', 'f(', 'a.b.', '1f'],
  ...['((((((((((a*)*)*)*)*)*)*)*)*)*', '(.*)(.*)(.*)(.*)(.*)x', 'f;alert(1)', 'a..b', 'eval', 'é'],
  // Long ones, as far as the head of a request takes them: work that grows faster than its length.
  ...[`${'1'.repeat(9000)}x`, `1${' '.repeat(4000)}x`, '1,'.repeat(4000), 'a.'.repeat(4000), '('.repeat(2000), 'ﷺ'.repeat(1400)],
  ...[`a${'\u0301'.repeat(1000)}${'\u0323'.repeat(1000)}`, '\u1100\u1161\u11a8'.repeat(400), `a@${'b.'.repeat(4000)}`],
].map((text) => ({ text }));

const broken: readonly Value[] = [
  ...['%', '%2', '%zz', '%00', '%ED%A0%80', '%ED%B0%80', '%FF%FE', '%C0%AF', '%F4%90%80%80', '%E2%82', 'a%0d%0ab'],
  ...['%u00e4', '%25%32%35', '+', '%2B', '%26a%3D1', '\xe4'],
].map((raw) => ({ raw }));

/** A value that breaks the rules of most fields. */
export function makeBroken(dice: Dice, { name, schema }: Field): { value: Value; note: string } {
  if (dice.chance(0.2)) return { value: dice.pick(broken), note: `${name}: a broken escape` };
  if (dice.chance(0.15))
    return { value: { text: dice.pick(['\ud800', 'a\udc00b', '\udbff']) }, note: `${name}: half a surrogate pair` };
  const bounds = [schema.minimum, schema.maximum].filter((bound) => typeof bound === 'number');
  if (bounds.length > 0 && dice.chance(0.4)) {
    const value = dice.pick(bounds) + dice.pick([-1, 1]);
    return { value: { text: String(value) }, note: `${name}: around a bound` };
  }
  const value = dice.pick(oddities);
  return { value, note: `${name}: ${'text' in value ? JSON.stringify(value.text) : ''}` };
}
