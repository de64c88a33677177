# The service without what is needed only to change it. One image for every role: PROCESS_ROLE=web answers requests, PROCESS_ROLE=worker does the jobs.
#   docker build -t species-sighting-service .
#   docker run -p 127.0.0.1:8080:8080 -v sightings:/data -e DATABASE_URL=postgres://… species-sighting-service
#   docker run --rm -e DATABASE_URL=postgres://… species-sighting-service src/cli.ts --help

# The Node.js that package.json brings to other machines.
ARG NODE=node:24.21.0-bookworm-slim

FROM ${NODE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY patches patches
# No package needs its install scripts. The image has a Node.js already: the one of the packages weighs as much as all others. TypeScript
# comes along because a package may be used with it.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/node-linux-* node_modules/typescript node_modules/@typescript node_modules/.bin/node node_modules/.bin/tsc \
  && npm run postinstall

FROM ${NODE}
# One heap for all threads: each that hashed a password kept 19 MB of its own.
ENV MALLOC_ARENA_MAX=1 \
  NODE_ENV=production \
  DATA_DIR=/data \
  HOST=0.0.0.0 \
  PORT=8080
WORKDIR /app
# A new volume takes its owner from here. By number, so that a supervisor can see that it is not root.
RUN install -d -o 1000 -g 1000 -m 700 /data
COPY --from=packages /app/node_modules node_modules
COPY package.json package-lock.json LICENSE ./
COPY src src
COPY sql sql
USER 1000:1000
VOLUME /data
EXPOSE 8080
# Longer than the first migration of an empty database takes.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.PORT}/health/ready`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# What `npm start` gives Node.js, without npm between the supervisor and the service.
ENTRYPOINT ["node", "--max-semi-space-size=4", "--disable-warning=ExperimentalWarning", "--import", "./src/preflight.js", "--import", "tsx"]
CMD ["src/main.ts"]
