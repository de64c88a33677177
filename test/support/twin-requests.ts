// Requests on every read path, made up from what the twins hold and from what they answered before.
import type { Account } from './catalogue.ts';
import type { Dice } from './dice.ts';
import type { Answer, RequestOptions } from './service.ts';
import { cellSize, type Place, type Tenant, type TwinRecord } from './twins.ts';

export interface TwinRequest {
  kind: 'list' | 'detail' | 'next' | 'medium' | 'log' | 'catalogue' | 'broken';
  path: string;
  options: RequestOptions & { as: Account | null; host: string };
}

/** What one reader learned at one host: what further requests begin with. */
interface Memory {
  next: string[];
  media: string[];
  /** Addresses with their ETag. */
  tags: [string, string][];
}

export interface RequestMaker {
  make(hosts: readonly string[], readers: readonly (Account | null)[]): TwinRequest;
  remember(request: TwinRequest, answer: Answer): void;
}

const values: Record<string, readonly string[]> = {
  titel_deutsch: ['Uhu', 'wanderfalke', 'rot%', '%a%', 'Amsel'],
  titel_wissenschaftlich: ['Bubo%', 'falco peregrinus', 'Milvus milvus', '%e%'],
  eu_guid: ['eu-1', 'eu-2', 'eu-3', 'eu-4'],
  art_id: ['N-1', 'S-1', 'W-1', 'N-3', 'S-3', 'W-4', 'N-4'],
  legacy_regional_art_id: ['101', '203', '304', '104'],
  artengruppe_id: ['1', '1', '2'],
  legacy_regional_artengruppe_id: ['11', '11', '12'],
  is_animal: ['true', 'true', 'false'],
  jahr: ['2021', '2022', '2023'],
  datum_von: ['1.1.2021', '15.6.2021', '1.1.2022', '11.5.2023'],
  datum_bis: ['31.12.2023', '1.7.2022', '31.12.2021'],
  mandant: ['N', 'S', 'W', 'n', 's'],
  status: ['freigegeben', 'freigegeben', 'pruefung', 'hinweis', 'abgelehnt'],
  bereich: ['oeffentlich', 'privat', 'persoenlich'],
};
/** The filters of the list; what says most about a place is asked most. */
export const filterNames = [...Object.keys(values), 'bbox', 'bbox', 'bbox', 'bbox', 'mandant', 'mandant', 'jahr'];

const restricts = [
  'lat,lon',
  'id',
  'id,lat,lon,is_rasterized',
  'mandanten',
  'guid,sensible_art,sensibel',
  'foto,audio',
  'nichts',
];
const broken = [
  '/sichtbeobachtungen?bbox=1,2,3',
  '/sichtbeobachtungen?bbox=450000,5530000,450000,5530001',
  '/sichtbeobachtungen?mandant=X',
  '/sichtbeobachtungen?limit=0',
  '/sichtbeobachtungen?cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  '/sichtbeobachtungen/99999999',
  '/sichtbeobachtungen?format=xml&callback=f',
  '/medien/00000000000000000000000000000000.jpg',
  '/nutzer/1',
];

/** A maker of requests about these records. */
export function makeRequests(dice: Dice, records: readonly TwinRecord[]): RequestMaker {
  const memories = new Map<string, Memory>();
  const memoryOf = ({ as, host }: TwinRequest['options']) => {
    const key = `${as} ${host}`;
    const memory = memories.get(key) ?? { next: [], media: [], tags: [] };
    memories.set(key, memory);
    return memory;
  };

  const list = () => {
    const count = dice.pick([0, 1, 1, 1, 2, 2, 3, 4]);
    const names = new Set(Array.from({ length: count }, () => dice.pick(filterNames)));
    const pairs = [...names].map(
      (name) => `${name}=${name === 'bbox' ? makeBox(dice, records) : encodeURIComponent(dice.pick(values[name] ?? []))}`,
    );
    if (dice.chance(0.6)) pairs.push(`limit=${dice.pick([1, 2, 5, 20, 300])}`);
    return `/sichtbeobachtungen?${[...pairs, ...makeForm(dice)].join('&')}`;
  };
  const paths: Record<TwinRequest['kind'], (memory: Memory) => string> = {
    list,
    detail: () => `/sichtbeobachtungen/${dice.pick(records).id}?${makeForm(dice).join('&')}`,
    next: ({ next }) => (next.length > 0 ? dice.pick(next) : list()),
    medium: ({ media }) => (media.length > 0 ? dice.pick(media) : list()),
    log: () =>
      `${dice.pick(['/protokoll', '/protokoll', '/qs'])}?${[...dice.pick([[], ['datum_von=1.1.2026'], ['datum_bis=2.1.2026']]), `limit=${dice.pick([1, 50, 1000])}`, ...makeForm(dice)].join('&')}`,
    catalogue: () =>
      dice.pick(['/arten', '/arten?gid=1', '/arten/1', '/arten/3', '/arten/4', '/artengruppen', '/stadien', '/aktivitaeten']),
    broken: () => dice.pick(broken),
  };
  const kinds: TwinRequest['kind'][] = [
    ...Array<'list'>(22).fill('list'),
    ...Array<'detail'>(8).fill('detail'),
    ...Array<'next'>(5).fill('next'),
    'medium',
    'medium',
    'log',
    'log',
    'catalogue',
    'broken',
  ];

  return {
    make(hosts, readers) {
      const options: TwinRequest['options'] = { host: dice.pick(hosts), as: dice.pick(readers) };
      const memory = memoryOf(options);
      const kind = dice.pick(kinds);
      let path = paths[kind](memory);
      const variant = dice.roll();
      if (variant < 0.06) options.method = 'HEAD';
      if (variant > 0.94 && memory.tags.length > 0) {
        const [address, tag] = dice.pick(memory.tags);
        path = address;
        options.headers = { 'if-none-match': tag };
      }
      return { kind, path, options };
    },
    remember({ path, options }, { text, headers }) {
      const memory = memoryOf(options);
      const tag = headers.get('etag');
      if (tag) memory.tags.push([path, tag]);
      for (const [, address = ''] of text.matchAll(/"https?:\/\/[^"]*?\/api\/v2(\/medien\/[^"]+)"/g)) memory.media.push(address);
      const next = /"next":"https?:\/\/[^"]*?\/api\/v2(\/[^"]+)"/.exec(text)?.[1];
      if (next) memory.next.push(next);
      // The latest only: what was answered before the last change is of little use.
      for (const pool of [memory.next, memory.media, memory.tags]) pool.splice(0, pool.length - 40);
    },
  };
}

/** What shows most about one record: each way to ask for its place, and around it, at one host. */
export function makeProbes({ id, places, corner }: TwinRecord, as: Account | null, tenant: Tenant): TwinRequest[] {
  const centre = { x: corner.x + cellSize / 2, y: corner.y + cellSize / 2 };
  const boxes = [...places, centre].map(({ x, y }) => `bbox=${x - 0.5},${y - 0.5},${x + 0.5},${y + 0.5}`);
  const lists = [
    ...boxes,
    ...boxes.flatMap((box) => [`${box}&jahr=2023`, `${box}&is_animal=true`]),
    'mandant=N',
    'mandant=S',
    'mandant=S&artengruppe_id=1',
  ];
  const options = { as, host: `${tenant.toLowerCase()}.test` };
  return [
    { kind: 'detail', path: `/sichtbeobachtungen/${id}`, options },
    ...lists.map((query): TwinRequest => ({ kind: 'list', path: `/sichtbeobachtungen?limit=20&${query}`, options })),
    { kind: 'log', path: '/protokoll?limit=1000', options },
  ];
}

function makeForm(dice: Dice): string[] {
  const form = dice.pick([[], [], ['format=json'], ['format=xml'], ['callback=f']]);
  return dice.chance(0.25) ? [...form, `restrict=${dice.pick(restricts)}`] : form;
}

// Around a true place of either service, a centre, a corner, or anywhere; from a millimetre to 400 km.
function makeBox(dice: Dice, records: readonly TwinRecord[]): string {
  const { places, corner } = dice.pick(records);
  const centre = { x: corner.x + cellSize / 2, y: corner.y + cellSize / 2 };
  const anywhere = { x: 280000 + dice.below(250000), y: 5490000 + dice.below(80000) };
  const middle: Place = dice.pick([...places, ...places, centre, corner, anywhere]);
  const size = () => dice.pick([0.0005, 0.5, 10, 300, 2000, 2500, 2500.001, 5000, 25000, 200000]);
  const [width, height] = dice.chance(0.7) ? Array<number>(2).fill(size()) : [size(), size()];
  // The place on an edge or in a corner of the box, as well as in its middle.
  const shift = () => dice.pick([0, 0, 0, -1, 1]);
  const [x, y] = [middle.x + shift() * (width ?? 1), middle.y + shift() * (height ?? 1)];
  return [x - (width ?? 1), y - (height ?? 1), x + (width ?? 1), y + (height ?? 1)]
    .map((value) => Number(value.toFixed(4)))
    .join(',');
}
