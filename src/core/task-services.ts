/** Services of the task engines; absent ones are not available. Each kind declares its own next to its types. */
// biome-ignore lint/suspicious/noEmptyInterface: it is extended in the files of the kinds.
export interface TaskServices {}
