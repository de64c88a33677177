// Loaded before everything else, and in plain JavaScript, because an older Node can't read the rest.
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `Dieser Dienst braucht Node.js 24 oder neuer, hier läuft ${process.versions.node}. „npm ci“ bringt es auf Linux und Windows (x64) mit; Start mit „npm start“.`,
  );
  process.exit(1);
}
