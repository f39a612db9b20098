import type { ImageFacts, ImageRequest, UpscaleRequest } from '../../core/image.ts';

/** A picture as the backend made it, and what it says of it. */
export interface RemotePicture {
  readonly bytes: Uint8Array;
  readonly seed: number;
}

export interface RemoteDrawing {
  readonly request: ImageRequest;
  readonly signal: AbortSignal;
  readonly progress: (step: number, steps: number, preview?: Uint8Array) => void;
}

/** One product that draws, spoken to through its own API. */
export interface DrawingServer {
  /** What it has, asked for once. */
  facts(): Promise<ImageFacts>;
  /** One picture, whatever the request says of their number. Rejects where none came. */
  draw(drawing: RemoteDrawing): Promise<RemotePicture>;
  upscale(request: UpscaleRequest, signal: AbortSignal): Promise<Uint8Array>;
  /** Ends what it draws now. */
  stop(): Promise<void>;
}
