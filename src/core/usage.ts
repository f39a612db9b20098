export const noUsage = {
  /** Requests that took a turn in the queue; polls, lists and settings are not counted. */
  requests: 0,
  /** Tokens of prompts, also those that were cached, and of embedded texts. */
  promptTokens: 0,
  completionTokens: 0,
  /** Generated ones. */
  images: 0,
  /** Length of transcribed recordings. */
  audioSecondsIn: 0,
  /** Length of speech and music. */
  audioSecondsOut: 0,
};

/** What a client has used. */
export type UsageCounts = Readonly<typeof noUsage>;

/** The usage of one client on one day. */
export interface DayUsage extends UsageCounts {
  /** Such as 2026-11-18, in the time zone of the server. */
  readonly day: string;
  readonly client: string;
}
