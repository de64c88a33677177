/** Tells how far a long task is: a bar on a terminal, a line per step elsewhere. */
export interface Progress {
  step(label: string, done: number, total: number): void;
  end(): void;
}

const barWidth = 30;

export function createProgress(out: NodeJS.WriteStream): Progress {
  let last = '';
  return {
    step(label, done, total) {
      if (out.isTTY) {
        const filled = Math.round((barWidth * done) / Math.max(total, 1));
        out.write(`\r\u001b[K${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${label} ${done}/${total}`);
      } else if (label !== last) {
        out.write(`${label} …\n`);
      }
      last = label;
    },
    end() {
      if (out.isTTY) out.write('\r\u001b[K');
    },
  };
}
