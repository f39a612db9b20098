/** A whole graph in the format of ComfyUI, for a backend that runs it as it is. */
export interface GraphRequest {
  /** Nodes by their ids. */
  readonly graph: Readonly<Record<string, unknown>>;
  /** Beside the graph, such as the workflow that is written into pictures. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Ids of the only outputs to compute; by default all. */
  readonly targets?: readonly string[] | undefined;
  /** The file of the client that has this name in the graph. */
  readonly file: (name: string) => Uint8Array | undefined;
}

/** A file that a graph has made, by the name that its outputs have. */
export interface GraphFile {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

export type GraphOutputs = Readonly<Record<string, object>>;

export type GraphEvent =
  /** What the backend reports, by its own names: `executing`, `progress`, `executed`. */
  | { readonly type: 'event'; readonly name: string; readonly data: Readonly<Record<string, unknown>> }
  /** A binary message: a preview, or a picture that a node sends. */
  | { readonly type: 'preview'; readonly bytes: Uint8Array }
  /** Before the event that names it. */
  | { readonly type: 'file'; readonly file: GraphFile }
  | { readonly type: 'outputs'; readonly outputs: GraphOutputs };

/** Whether graphs run as they are; `perhaps` until the backend has answered. */
export type RunsGraphs = 'whole' | 'perhaps';

/** The picture in a binary message of ComfyUI: JPEG or PNG (type 1), or any format that its metadata names (type 4). */
export function previewPicture(message: Uint8Array): Uint8Array | undefined {
  if (message.length <= 8) return undefined;
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const [type, second] = [view.getUint32(0), view.getUint32(4)];
  const start = type === 4 ? 8 + second : 8;
  const isPicture = type === 4 || (type === 1 && (second === 1 || second === 2));
  return isPicture && start < message.length ? message.subarray(start) : undefined;
}
