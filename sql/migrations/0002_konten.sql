CREATE TABLE "portal"."nutzer_link" (
	"nutzer_id" bigint PRIMARY KEY NOT NULL,
	"hash" "bytea" NOT NULL,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."nutzer_reservierung" (
	"loginname_key" text PRIMARY KEY NOT NULL,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."versuch" (
	"zweck" text NOT NULL,
	"schluessel" "bytea" NOT NULL,
	"seit" timestamp with time zone DEFAULT now() NOT NULL,
	"anzahl" integer NOT NULL,
	CONSTRAINT "versuch_zweck_schluessel_pk" PRIMARY KEY("zweck","schluessel")
);
--> statement-breakpoint
ALTER TABLE "portal"."nutzer_link" ADD CONSTRAINT "nutzer_link_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "nutzer_link_hash" ON "portal"."nutzer_link" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "versuch_seit" ON "portal"."versuch" USING btree ("seit");