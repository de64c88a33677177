// Keeps the cores busy: two processes that compute until this one ends.
import { root, startProcess } from '../bench/process.ts';

/** They are ended with the run. */
export function keepBusy(): void {
  for (let i = 0; i < 2; i++) {
    // Ends by itself when nobody listens any more.
    const code = `process.stdout.on('error', () => process.exit()); for (;;) { const until = Date.now() + 500; while (Date.now() < until); process.stdout.write('.'); await new Promise((resolve) => setImmediate(resolve)); }`;
    startProcess(process.execPath, ['--input-type=module', '-e', code], { cwd: root });
  }
}
