/**
 * Why a file is not taken: no bytes at all; none of the eight kinds; one of them, but broken off, broken or without a
 * sound; one of them in a form that can't be freed of what it tells; a video.
 */
export type RefusalReason = 'empty' | 'unknown' | 'damaged' | 'unsupported' | 'video';

/** This is no audio file that the service keeps. The message is for tests and logs, the reason for the interface. */
export class AudioRefusedError extends Error {
  readonly code = 'AUDIO_REFUSED';
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
