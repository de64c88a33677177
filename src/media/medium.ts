// What is made of a file before it is stored, wherever it comes from: a form, or an import.
import { AudioRefusedError, type RefusalReason } from './audio/refusal.ts';
import { type JpegRefusal, maxKeptPixels, maxPixels } from './jpeg.ts';
import { makeMediumName } from './name.ts';
import type { Storage } from './storage.ts';
import { type FileMaker, type MediaThreads, PhotoRefusedError } from './threads.ts';
import type { Uploads } from './uploads.ts';

export type MediumKind = 'photo' | 'audio';

/** What takes, changes and keeps files. */
export interface Media {
  uploads: Uploads;
  threads: MediaThreads;
  storage: Storage;
}

/** As much as is taken of a file, in bytes (api-v2 Limits). */
export const maxFileBytes: Record<MediumKind, number> = { photo: 12 * 1024 * 1024, audio: 1024 * 1024 };

/** Content types by the ending of the stored name, which the service chose itself. */
export const mediumTypes: Record<string, string> = {
  jpg: 'image/jpeg',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  aac: 'audio/aac',
  amr: 'audio/amr',
  awb: 'audio/amr-wb',
  m4a: 'audio/mp4',
  oga: 'audio/ogg',
  flac: 'audio/flac',
};

/** What is to be stored, under a name that nothing has yet. */
export interface MadeMedium {
  name: string;
  bytes: Uint8Array;
  contentType: string;
}

/**
 * Makes of a file what is kept of it: a small photo, or the sound alone. The file stays as it is.
 * @param path a file of at most `maxFileBytes` of its kind
 * @throws PhotoRefusedError, AudioRefusedError when the file is at fault (describeRefusal); the other errors of FileMaker
 */
export async function makeMedium(files: FileMaker, kind: MediumKind, path: string): Promise<MadeMedium> {
  if (kind === 'photo') return nameMedium('jpg', await files.compress(path));
  const sound = await files.clean(path);
  return nameMedium(sound.kind, sound.bytes);
}

const nameMedium = (ending: string, bytes: Uint8Array): MadeMedium => ({
  name: makeMediumName(ending),
  bytes,
  contentType: mediumTypes[ending] ?? '',
});

const photoReasons: Record<JpegRefusal, string> = {
  no_jpeg: 'ist kein JPEG',
  heic: 'ist HEIC (das iPhone macht JPEG mit Einstellungen › Kamera › Formate › „Maximale Kompatibilität“)',
  avif: 'ist AVIF',
  png: 'ist PNG',
  webp: 'ist WebP',
  gif: 'ist GIF',
  damaged: 'ist beschädigt',
  truncated: 'ist unvollständig',
  unsupported: 'ist ein JPEG in einer Art, die Kameras nicht schreiben',
  cmyk: 'ist für den Druck gemacht (CMYK)',
  too_many_pixels: `hat zu viele Bildpunkte (progressiv gespeichert bis ${maxKeptPixels / 1e6} Megapixel)`,
};

const audioReasons: Record<RefusalReason, string> = {
  empty: 'ist leer',
  unknown: 'ist keine Tonaufnahme, die dieser Dienst kennt',
  damaged: 'ist beschädigt oder unvollständig',
  unsupported:
    'ist in einer Form, aus der sich Ort und Namen nicht entfernen lassen (aus einer Ton-App neu als mp3 oder m4a gespeichert geht es)',
  video: 'ist ein Film (mit einer Ton-App nur den Ton speichern)',
};

/**
 * Why a file was refused, and what is taken; null for an error that is not the file's fault.
 * @param name the field or the column
 */
export function describeRefusal(name: string, error: unknown): string | null {
  if (error instanceof PhotoRefusedError)
    return `${name} ${photoReasons[error.reason]}, erlaubt sind JPEG-Fotos bis ${maxPixels / 1e6} Megapixel.`;
  if (error instanceof AudioRefusedError)
    return `${name} ${audioReasons[error.reason]}, erlaubt sind mp3, wav, aac, amr, awb, m4a, oga und flac.`;
  return null;
}
