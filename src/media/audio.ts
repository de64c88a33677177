// Audio uploads: which kind a file is by its own bytes, and the same sound without what else the file tells: the place of the
// recording, its time, names (S1.8). What is kept is what a player needs, named one by one for each format; everything else
// goes, because phones and programs invent new places for it. Own code, not a library: D6.12 tells which were tried.
import { amrHeads, cleanAmr } from './audio/amr.ts';
import { hasText } from './audio/bytes.ts';
import { cleanFlac } from './audio/flac.ts';
import { startsWithFrames } from './audio/frames.ts';
import { cleanMp4, isMp4 } from './audio/mp4.ts';
import { cleanFrames, readAdtsFrame, readMp3Frame } from './audio/mpeg.ts';
import { cleanOgg } from './audio/ogg.ts';
import { AudioRefusedError } from './audio/refusal.ts';
import { cleanWav } from './audio/riff.ts';
import { skipLeadingTags } from './audio/tags.ts';

/** The kinds that are taken; also the ending of the stored name. `m4a` is the whole family of MP4, 3GP among it. */
export type AudioKind = 'mp3' | 'wav' | 'aac' | 'amr' | 'awb' | 'm4a' | 'oga' | 'flac';

const cleaners: Record<AudioKind, (bytes: Buffer) => Buffer> = {
  mp3: (bytes) => cleanFrames(bytes, readMp3Frame),
  wav: cleanWav,
  aac: (bytes) => cleanFrames(bytes, readAdtsFrame),
  amr: (bytes) => cleanAmr(bytes, 'amr'),
  awb: (bytes) => cleanAmr(bytes, 'awb'),
  m4a: cleanMp4,
  oga: cleanOgg,
  flac: cleanFlac,
};

/**
 * The file without its tags, never longer (but for the byte that fills up an odd WAV); the sound in it stays byte for byte. A mebibyte
 * may take half a second: only for a thread of its own (thread.ts).
 * @param bytes a whole file; not changed
 * @throws AudioRefusedError when it is none of the eight kinds, or one that is broken, has no sound, shows pictures, or comes
 * in a form whose tags can't be told from its sound
 */
export function cleanAudio(bytes: Buffer): { kind: AudioKind; bytes: Buffer } {
  const kind = recogniseKind(bytes);
  return { kind, bytes: cleaners[kind](bytes) };
}

function recogniseKind(bytes: Buffer): AudioKind {
  if (bytes.length === 0) throw new AudioRefusedError('empty', 'no bytes');
  if ((hasText(bytes, 0, 'RIFF') || hasText(bytes, 0, 'RF64')) && hasText(bytes, 8, 'WAVE')) return 'wav';
  if (hasText(bytes, 0, 'OggS')) return 'oga';
  if (hasText(bytes, 0, amrHeads.amr)) return 'amr';
  if (hasText(bytes, 0, amrHeads.awb)) return 'awb';
  if (isMp4(bytes)) return 'm4a';
  const start = skipLeadingTags(bytes);
  if (hasText(bytes, start, 'fLaC')) return 'flac';
  if (startsWithFrames(bytes, start, readAdtsFrame)) return 'aac';
  // Behind an ID3 tag of a wrong length the frames are searched for: programs that write such tags are many.
  if (start > 0 || startsWithFrames(bytes, start, readMp3Frame)) return 'mp3';
  throw new AudioRefusedError('unknown', 'none of the eight kinds');
}
