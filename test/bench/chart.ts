// The chart: p50 in the database against the number of sightings, both logarithmic.
import { formatSize } from './report.ts';
import type { Results } from './targets.ts';

const width = 860;
const height = 460;
const plot = { left: 60, right: 620, top: 40, bottom: 410 };
const colours = ['#1b6ca8', '#c8553d', '#3a7d44', '#8a508f', '#b8860b', '#2f4858', '#d1495b', '#00798c', '#6b705c', '#7b2cbf'];
const shown = ['newest', 'bbox10', 'bbox100', 'country', 'species', 'mandant', 'year', 'days', 'own', 'rare'];

/** An SVG with one line per case. */
export function drawChart(results: Results): string {
  const sizes = [...new Set(results.entries.map((entry) => entry.size))].sort((a, b) => a - b);
  const lines = shown.flatMap((name, index) => {
    const points = sizes.flatMap((size) => {
      const entry = results.entries.find((candidate) => candidate.size === size && candidate.name === name);
      return entry?.sides.db ? [{ size, ms: entry.sides.db.p50, title: entry.title }] : [];
    });
    return points.length > 0 ? [{ points, colour: colours[index] ?? '#000', title: points[0]?.title ?? name }] : [];
  });
  const values = lines.flatMap((line) => line.points.map((point) => point.ms));
  const [low, high] = [10 ** Math.floor(Math.log10(Math.min(...values))), 10 ** Math.ceil(Math.log10(Math.max(...values)))];
  const scale = (value: number, from: [number, number], to: [number, number]) => {
    const span = Math.log(from[1] / from[0]);
    return span === 0 ? (to[0] + to[1]) / 2 : to[0] + (Math.log(value / from[0]) / span) * (to[1] - to[0]);
  };
  const x = (size: number) => scale(size, [sizes[0] ?? 1, sizes.at(-1) ?? 1], [plot.left + 20, plot.right - 20]).toFixed(1);
  const y = (ms: number) => scale(ms, [low, high], [plot.bottom, plot.top]).toFixed(1);

  const grid: string[] = [];
  for (let decade = low; decade < high * 1.01; decade *= 10) {
    for (const step of decade < high * 0.99 ? [1, 2, 5] : [1]) {
      const at = y(decade * step);
      grid.push(
        `<line x1="${plot.left}" y1="${at}" x2="${plot.right}" y2="${at}" stroke="#ddd"/>`,
        `<text x="${plot.left - 8}" y="${at}" dy="4" text-anchor="end">${Number((decade * step).toPrecision(2))}</text>`,
      );
    }
  }
  for (const size of sizes) {
    grid.push(`<text x="${x(size)}" y="${plot.bottom + 22}" text-anchor="middle">${formatSize(size)}</text>`);
  }
  // Labels of lines that end close together would cover each other: pushed apart from the top down.
  const labels = lines.map((line) => ({ line, at: Number(y(line.points.at(-1)?.ms ?? low)) })).sort((a, b) => a.at - b.at);
  let free = plot.top - 10;
  const drawn = labels.map(({ line, at }) => {
    const row = Math.max(at, free);
    free = row + 16;
    const path = line.points.map((point) => `${x(point.size)},${y(point.ms)}`).join(' ');
    const last = line.points.at(-1);
    const dots = line.points.map((point) => `<circle cx="${x(point.size)}" cy="${y(point.ms)}" r="3" fill="${line.colour}"/>`);
    return `<polyline points="${path}" fill="none" stroke="${line.colour}" stroke-width="2"/>${dots.join('')}
<line x1="${plot.right - 16}" y1="${at}" x2="${plot.right + 10}" y2="${row}" stroke="${line.colour}" stroke-dasharray="2 2"/>
<text x="${plot.right + 14}" y="${row}" dy="4" fill="${line.colour}">${line.title}, ${last?.ms.toPrecision(2)} ms</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<title>Latency against size</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${plot.left}" y="20" font-size="14">A page in the database, p50 in milliseconds, against the number of sightings</text>
${grid.join('\n')}
${drawn.join('\n')}
</svg>
`;
}
