// Loaded before everything else, and in plain JavaScript, because an older Node can't read the rest.
const [major, minor] = process.versions.node.split('.').map(Number);
// 24.7 is the first with crypto.argon2.
if (major < 24 || (major === 24 && minor < 7)) {
  console.error(
    `Dieser Dienst braucht Node.js 24.7 oder neuer, hier läuft ${process.versions.node}. „npm ci“ bringt es auf Linux und Windows (x64) mit; Start mit „npm start“.`,
  );
  process.exit(1);
}
// What threads of photos and the embedded database need; some builds are without it.
if (!process.features.typescript) {
  console.error(
    'Dieser Dienst braucht ein Node.js, das TypeScript selbst liest: gebaut mit amaro und ohne --no-strip-types. „npm ci“ bringt eines mit.',
  );
  process.exit(1);
}
