// Photos and sound files that were damaged, with all the ways in which a file may lie about itself.
import { audioKinds, makeAudio } from '../support/audio.ts';
import type { Dice } from '../support/dice.ts';
import { claimFrame, claimSize, makeBomb, makeInks, makeJpeg, strangers } from '../support/photo.ts';
import { credentialsOf } from './encode.ts';
import { type FormField, makeBody } from './forms.ts';
import type { Draft } from './plan.ts';
import type { Shot } from './send.ts';
import { tenantHosts, type World } from './world.ts';

/** Whole files, to be damaged. */
export interface Samples {
  photos: Buffer[];
  sounds: Buffer[];
}

export async function makeSamples(): Promise<Samples> {
  const plain = await makeJpeg({ width: 96, height: 64 });
  const photos = [
    plain,
    await makeJpeg({ width: 640, height: 480, personal: true, orientation: 6 }),
    await makeJpeg({ width: 320, height: 200, progressive: true, noise: 40 }),
    await makeJpeg({ width: 33, height: 17, gray: true, personal: true }),
    await makeJpeg({ width: 1600, height: 1200, noise: 90, quality: 90 }),
    await makeJpeg({ width: 200, height: 200, bytes: 300_000 }),
    await makeBomb(8000, 6000),
    await makeBomb(65_500, 65_500),
    await makeBomb(7000, 7000, true),
    await makeInks(4),
    claimSize(plain, 0, 0),
    claimSize(plain, 1, 65_535),
    claimFrame(plain, { marker: 0xc9 }),
    claimFrame(plain, { bits: 12 }),
    ...Object.values(strangers),
  ];
  return { photos, sounds: audioKinds.flatMap((kind) => [makeAudio(kind), makeAudio(kind, { tags: true })]) };
}

const photoFields = ['foto', 'foto_2', 'foto_3', 'biotopfoto'] as const;

/** A report, or a change of one, with files that were damaged. */
export function draftUpload(dice: Dice, world: World, samples: Samples): Draft {
  const notes: string[] = [];
  const isChange = dice.chance(0.3);
  const fields: FormField[] = isChange
    ? []
    : [
        { name: 'art', value: { text: String(1 + dice.below(700)) } },
        { name: 'lat', value: { text: String(5_500_000 + dice.below(90_000)) } },
        { name: 'lon', value: { text: String(400_000 + dice.below(50_000)) } },
      ];
  const names = dice.chance(0.15) ? [...photoFields, 'audio'] : [dice.pick([...photoFields, 'audio', 'audio'])];
  for (const name of names) {
    const isSwapped = dice.chance(0.05);
    const pool = (name === 'audio') !== isSwapped ? samples.sounds : samples.photos;
    const file = damage(dice, dice.pick(pool), pool, notes);
    fields.push({
      name,
      value: { file },
      filename: dice.pick(['a.jpg', 'x.mp3', '', '../../x.jpg', 'ä.jpg', `${'n'.repeat(5000)}.jpg`]),
    });
  }
  const body = makeBody(dice, fields, notes, dice.chance(0.08));
  const account = dice.pick([world.roles.reporter, world.roles.neighbour, world.roles.expert, world.roles.restricted, null]);
  const shot: Shot = {
    method: isChange ? 'PUT' : 'POST',
    target: `/api/v2/sichtbeobachtungen${isChange ? `/${dice.pick(world.records.slice(0, 24))}` : ''}${dice.pick(['', '?format=xml', '?callback=f'])}`,
    headers: [
      ['Host', dice.pick(tenantHosts)],
      ...credentialsOf(account),
      ...(body.type === null ? [] : [['Content-Type', body.type] as const]),
    ],
    body: body.bytes,
    ...(body.chunks && { chunks: body.chunks }),
    // Photos wait for their turn for up to a minute; then each is worked on.
    patienceMs: 90_000,
  };
  return { kind: 'upload', note: `${names.join(', ')}: ${notes.join('; ')}`, shots: [shot] };
}

function damage(dice: Dice, whole: Buffer, pool: readonly Buffer[], notes: string[]): Buffer {
  const file = Buffer.from(whole);
  const place = (size: number) => dice.below(Math.max(1, (dice.chance(0.7) ? Math.min(file.length, 400) : file.length) - size));
  const ways: [note: string, make: () => Buffer][] = [
    ['whole', () => file],
    [
      'flipped bits',
      () => {
        for (let i = dice.pick([1, 3, 50]); i > 0 && file.length > 0; i--) {
          const at = place(1);
          file[at] = (file[at] ?? 0) ^ (1 << dice.below(8));
        }
        return file;
      },
    ],
    ['cut off', () => file.subarray(0, dice.below(file.length + 1))],
    [
      'an extreme number',
      () => {
        const size = dice.pick([1, 2, 4, 8]);
        if (file.length < size) return file;
        const extreme = dice.pick([0, 0xff, 0x7f, 0x80]);
        const at = place(size);
        file.fill(extreme, at, at + size);
        if (dice.chance(0.5)) file[at + size - 1] = dice.pick([0, 1, 2, 0xff]);
        return file;
      },
    ],
    [
      'an extreme length of a segment',
      () => {
        const marker = file.indexOf(0xff, place(4));
        if (marker >= 0 && marker + 4 <= file.length) file.writeUInt16BE(dice.pick([0, 1, 2, 3, 0xffff, 0x8000]), marker + 2);
        return file;
      },
    ],
    [
      'spliced',
      () => {
        const other = dice.pick(pool);
        return Buffer.concat([file.subarray(0, dice.below(file.length + 1)), other.subarray(dice.below(other.length + 1))]);
      },
    ],
    [
      'a part repeated',
      () => {
        const at = place(64);
        const part = file.subarray(at, at + 1 + dice.below(500));
        return Buffer.concat([file.subarray(0, at), ...Array(dice.pick([2, 50, 500])).fill(part), file.subarray(at)]).subarray(
          0,
          900_000,
        );
      },
    ],
    [
      'a hole',
      () => {
        const at = place(2);
        return Buffer.concat([file.subarray(0, at), file.subarray(at + 1 + dice.below(100))]);
      },
    ],
    ['noise behind', () => Buffer.concat([file, Buffer.alloc(dice.pick([1, 5000, 1_000_000]), dice.below(256))])],
    [
      'markers behind',
      () => {
        const marker = dice.pick(['\xff\xd8', '\xff', 'ID3', 'OggS', '\xff\xfb\x90']);
        return Buffer.concat([file, Buffer.alloc(dice.pick([1000, 900_000]), marker, 'latin1')]);
      },
    ],
  ];
  const [note, make] = dice.pick(ways);
  notes.push(note);
  return make();
}
