/** What a client has used. */
export interface UsageCounts {
  /** Requests that took a turn in the queue; polls, lists and settings are not counted. */
  readonly requests: number;
  /** Tokens of prompts, also those that were cached, and of embedded texts. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Generated ones. */
  readonly images: number;
  /** Length of transcribed recordings. */
  readonly audioSecondsIn: number;
  /** Length of speech and music. */
  readonly audioSecondsOut: number;
}

export const noUsage: UsageCounts = {
  requests: 0,
  promptTokens: 0,
  completionTokens: 0,
  images: 0,
  audioSecondsIn: 0,
  audioSecondsOut: 0,
};

/** The usage of one client on one day. */
export interface DayUsage extends UsageCounts {
  /** Such as 2026-11-18, in the time zone of the server. */
  readonly day: string;
  readonly client: string;
}
