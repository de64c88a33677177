// Prometheus' text format, read strictly: what is wrong with it, and what is in it.
import { spawnSync } from 'node:child_process';

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Family {
  type: string;
  help: string;
  samples: Sample[];
}

const samplePattern = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const labelPattern = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  labelPattern.lastIndex = 0;
  while (labelPattern.lastIndex < text.length) {
    const [, name = '', value = ''] = labelPattern.exec(text) ?? fail(`labels: ${text}`);
    if (name in labels) fail(`label twice: ${text}`);
    labels[name] = value;
  }
  return labels;
}

function fail(reason: string): never {
  throw new Error(reason);
}

function readValue(text: string): number {
  if (/^[+-]Inf$/.test(text)) return text === '+Inf' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  // As Go reads it, in any case.
  if (/^nan$/i.test(text)) return Number.NaN;
  const value = Number(text);
  return Number.isNaN(value) ? fail(`value: ${text}`) : value;
}

/** Family of metrics → its samples. Throws where Prometheus would refuse the text or read something else from it. */
export function readExposition(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) fail('the last line has no end');
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  let current: [string, Family] | null = null;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) ?(.*)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      if (families.has(name)) fail(`${name} comes twice`);
      current = [name, { type: '', help: rest, samples: [] }];
      families.set(...current);
    } else if (kind === 'TYPE') {
      if (current?.[0] !== name || !/^(counter|gauge|histogram|summary)$/.test(rest)) fail(line);
      else current[1].type = rest;
    } else {
      const [, of = '', labels = '', value = ''] = samplePattern.exec(line) ?? fail(line);
      const [family, { type, samples }] = current ?? fail(line);
      const base = type === 'histogram' || type === 'summary' ? of.replace(/_(bucket|sum|count)$/, '') : of;
      if (base !== family) fail(`${of} below ${family}`);
      const sample = { name: of, labels: readLabels(labels), value: readValue(value) };
      const key = `${of} ${JSON.stringify(Object.entries(sample.labels).sort())}`;
      if (seen.has(key)) fail(`${key} comes twice`);
      seen.add(key);
      samples.push(sample);
    }
  }
  for (const [name, { type, samples }] of families) {
    if (type === 'counter' && !name.endsWith('_total')) fail(`${name} is a counter without _total`);
    if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) fail(`${name} is no count`);
    if (type === 'histogram') checkHistogram(name, samples);
  }
  return families;
}

function checkHistogram(name: string, samples: Sample[]): void {
  const keyOf = ({ labels }: Sample) => JSON.stringify(Object.entries(labels).filter(([label]) => label !== 'le'));
  for (const ofLabels of Map.groupBy(samples, keyOf).values()) {
    const buckets = ofLabels.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => readValue(labels.le ?? ''));
    const counts = buckets.map(({ value }) => value);
    const isRising = (values: number[]) => values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0));
    const count = ofLabels.find((sample) => sample.name === `${name}_count`)?.value;
    if (!isRising(bounds) || !isRising(counts) || bounds.at(-1) !== Number.POSITIVE_INFINITY || counts.at(-1) !== count)
      fail(`${name}: its buckets are none`);
  }
}

/** Prometheus' own tool, where it is installed. */
export const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
export const needsPromtool = !hasPromtool && 'promtool is not installed (Debian: apt-get install prometheus)';

/** @returns what it says, and its code */
export function runPromtool(args: string[], input = ''): { code: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { code: status, said: `${stdout}${stderr}` };
}
