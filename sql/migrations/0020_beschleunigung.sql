CREATE TABLE "portal"."stand_block" (
	"block" integer NOT NULL,
	"id" bigint NOT NULL,
	"anzahl" bigint NOT NULL,
	"gestartet" timestamp with time zone,
	CONSTRAINT "stand_block_block_id_pk" PRIMARY KEY("block","id")
);
--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_erfahrung" ON "portal"."sichtbeobachtung" USING btree ("nutzer_id","gid") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich' and "portal"."sichtbeobachtung"."status" = 'freigegeben';