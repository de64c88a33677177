// What the pinned driver (postgres 3.4.9) does wrong when a connection breaks, mended as it is loaded: its releases have not mended it
// (porsager/postgres#1154, #1168, #1208). Plain JavaScript, because it stands before everything that is read otherwise.
import module from 'node:module';

// Whatever was asked on a connection that broke is told so and forgotten. What was left of it waited in the next life of the
// connection: statements that were never sent, for whose answers all others then waited; bytes, behind which that life's own greeting
// was kept back until `connect_timeout`; the statement that broke, to which an error at the next greeting ("the database system is
// starting up") was told instead of to who waited for the connection.
const settle = `
    chunk = nextWriteTimer = null
    const lost = Errors.connection('CONNECTION_CLOSED', options, socket)
    query && queryError(query, lost)
    while (sent.length)
      queryError(sent.shift(), lost)
    query = results = errorResponse = null
    result = new Result()
`;

/** @type {readonly {readonly file: string, readonly fixes: readonly (readonly [from: string, to: string])[]}[]} */
const files = [
  {
    file: 'postgres/src/connection.js',
    fixes: [
      // Where something in between takes connections and drops them, it tried again without a pause, and nobody was told. This was for
      // addresses of several hosts, which src/db/hosts.ts connects to.
      ['    if (initial)\n      return reconnect()\n', ''],
      [
        '    closedTime = performance.now()\n',
        `${settle}    initial && queryError(initial, lost)\n    initial = null\n    closedTime = performance.now()\n`,
      ],
      // What a socket below TLS says after its end, nobody heard: it ended the process.
      [
        '    socket.removeAllListeners()\n    socket = null\n',
        '    socket.removeAllListeners()\n    socket.on("error", () => {})\n    socket = null\n',
      ],
      // A reserved connection that had to be opened was handed over only where the driver asked for types first.
      [
        '      initial && !initial.reserve && execute(initial)\n      options.shared.retries = retries = 0\n      initial = null\n      return\n',
        `      const isReserved = initial && initial.reserve
      initial && !isReserved && execute(initial)
      options.shared.retries = retries = 0
      initial = null
      if (isReserved)
        onopen(connection)
      return\n`,
      ],
      // Outside of any promise: it ended the process.
      [
        '    const x = socket.write(chunk, fn)\n',
        `    if (socket === null) {${settle}      return false\n    }\n    const x = socket.write(chunk, fn)\n`,
      ],
    ],
  },
  {
    file: 'postgres/src/index.js',
    fixes: [
      // A broken connection comes back and is given to others: what a transaction still asked for ran among theirs, and was kept.
      ['    let savepoints = 0\n', '    let lost = null\n    let savepoints = 0\n'],
      [
        'connection.onclose = reject)',
        `connection.onclose = error => {
          lost = error
          while (queries.length)
            queries.shift().reject(error)
          reject(error)
        })`,
      ],
      [
        '        q.catch(e => uncaughtError || (uncaughtError = e))\n',
        '        q.catch(e => uncaughtError || (uncaughtError = e))\n        if (lost)\n          return q.reject(lost)\n',
      ],
      // The same of a reserved one, which its release gave back as if it were open.
      [
        '    c.reserved.release = true\n',
        `    c.reserved.release = true
    let lost = null
    c.onclose = error => {
      lost = error
      while (queue.length)
        queue.shift().reject(error)
    }\n`,
      ],
      ['    sql.release = () => {\n', '    sql.release = () => {\n      if (lost)\n        return\n      c.onclose = null\n'],
      [
        '    function handler(q) {\n      c.queue === full\n',
        '    function handler(q) {\n      if (lost)\n        return q.reject(lost)\n      c.queue === full\n',
      ],
      // Who was told that there is none got one nevertheless, later, and never gave it back.
      ['{ reserve: resolve, reject }', '{ reserve: resolve, reject: error => (queries.remove(query), reject(error)) }'],
    ],
  },
];

module.registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const path = url.split('?', 1)[0] ?? '';
    const { fixes = [] } = files.find(({ file }) => path.endsWith(`/node_modules/${file}`)) ?? {};
    if (fixes.length === 0) return loaded;
    let source = String(loaded.source);
    for (const [from, to] of fixes) {
      if (source.split(from).length !== 2)
        throw new Error(`${path} is not what src/db/driver-fixes.js mends: another version of the driver?`);
      source = source.replace(from, () => to);
    }
    return { ...loaded, source };
  },
});
