// The thread that makes photos small and cleans sound files: what strangers sent is read here, so that it may take its time. One
// file after the other; what fails for another reason than the file is thrown, the thread ends, and the next file gets a new one.
import { readFile } from 'node:fs/promises';
import { parentPort } from 'node:worker_threads';
import { AudioRefusedError, type RefusalReason } from './audio/refusal.ts';
import { type AudioKind, cleanAudio } from './audio.ts';
import type { PhotoReply } from './photo.ts';

/** The sound to store, in a buffer of its own, or why there is none. */
export type SoundReply = { kind: AudioKind; bytes: Uint8Array<ArrayBuffer> } | { refused: RefusalReason };

/** Worker to main thread; the buffer of the bytes is handed over. */
export interface MediaReplies {
  photo: PhotoReply;
  audio: SoundReply;
}

/** Main thread to worker: the file of an upload. */
export interface MediaRequest {
  kind: keyof MediaReplies;
  path: string;
}

const makers: { [K in keyof MediaReplies]: (bytes: Buffer) => Promise<MediaReplies[K]> } = {
  async photo(bytes) {
    // A sound doesn't need the library.
    const { compressPhoto } = await import('./photo.ts');
    return compressPhoto(bytes);
  },
  async audio(bytes) {
    try {
      const sound = cleanAudio(bytes);
      return { kind: sound.kind, bytes: new Uint8Array(sound.bytes) };
    } catch (error) {
      if (error instanceof AudioRefusedError) return { refused: error.reason };
      throw error;
    }
  },
};

parentPort?.on('message', async (request: MediaRequest) => {
  const reply = await makers[request.kind](await readFile(request.path));
  parentPort?.postMessage(reply, 'bytes' in reply ? [reply.bytes.buffer] : []);
});
