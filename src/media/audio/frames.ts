// Streams of frames that follow each other without a container: MPEG audio and ADTS.
import { measureId3v2 } from './tags.ts';

const letterI = 0x49;

/** What the header of a frame says. */
export interface Frame {
  /** Bytes of the frame with its header. */
  length: number;
  /** Equal for all frames of one recording: version, sample rate and the like. */
  form: number;
}

/** The frame whose header stands here, or null. The frame itself may reach beyond the end of the file. */
export type ReadFrame = (bytes: Buffer, at: number) => Frame | null;

/**
 * The whole frames from `start` on, and nothing else: a tag in the middle of files that were joined, rubbish between frames
 * and a last frame that is broken off are left out, so what can't be played can't tell anything either.
 * @returns pieces of `bytes`, none when there is no frame
 */
export function collectFrames(bytes: Buffer, start: number, readFrame: ReadFrame): Buffer[] {
  const runs: Buffer[] = [];
  let runStart = start;
  let at = start;
  // Out of step, a header counts only when another of its kind follows: eleven set bits alone are found in any picture.
  let inStep = false;
  while (at < bytes.length) {
    const frame = readFrame(bytes, at);
    if (frame && at + frame.length <= bytes.length && (inStep || isFollowed(bytes, at, frame, readFrame))) {
      if (!inStep) runStart = at;
      inStep = true;
      at += frame.length;
      continue;
    }
    if (inStep) runs.push(bytes.subarray(runStart, at));
    inStep = false;
    at = findNext(bytes, at);
  }
  if (inStep) runs.push(bytes.subarray(runStart, at));
  return runs;
}

/** Whether a stream of frames begins here: a whole frame, and behind it another of its kind or the end. */
export function startsWithFrames(bytes: Buffer, at: number, readFrame: ReadFrame): boolean {
  const frame = readFrame(bytes, at);
  return frame !== null && isFollowed(bytes, at, frame, readFrame);
}

function isFollowed(bytes: Buffer, at: number, frame: Frame, readFrame: ReadFrame): boolean {
  const next = at + frame.length;
  return next === bytes.length || readFrame(bytes, next)?.form === frame.form;
}

function findNext(bytes: Buffer, at: number): number {
  const tag = measureId3v2(bytes, at);
  if (tag > 0) return at + tag;
  for (let next = at + 1; next < bytes.length; next++) {
    if (bytes[next] === 0xff || (bytes[next] === letterI && measureId3v2(bytes, next) > 0)) return next;
  }
  return bytes.length;
}
