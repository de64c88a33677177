CREATE TABLE "portal"."entscheidung" (
	"nutzer_id" bigint NOT NULL,
	"schluessel" "bytea" NOT NULL,
	"sichtbeobachtung_id" bigint NOT NULL,
	"anfrage" "bytea" NOT NULL,
	"code" text,
	"zeitpunkt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "entscheidung_nutzer_id_schluessel_sichtbeobachtung_id_pk" PRIMARY KEY("nutzer_id","schluessel","sichtbeobachtung_id")
);
--> statement-breakpoint
ALTER TABLE "portal"."pruefgrund" ADD COLUMN "nutzer_id" bigint NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."pruefgrund" ADD COLUMN "art" integer NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."pruefgrund" ADD COLUMN "gid" integer NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."pruefgrund" ADD COLUMN "mandanten" integer[] NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."pruefgrund" ADD COLUMN "angelegt" timestamp with time zone NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."pruefgrund" ADD COLUMN "mit_foto" boolean NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."entscheidung" ADD CONSTRAINT "entscheidung_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;