import type { Channel, Fit, Size } from '../../core/pictures.ts';
import type { AskedPicture } from '../pictures/request.ts';
import type { SentPicture } from '../pictures/sent-picture.ts';

/** What one node does; each gives pictures, for latents are pictures that nobody looks at. */
export type Step =
  | { readonly type: 'load'; readonly name: string }
  | { readonly type: 'inline'; readonly picture: SentPicture }
  | { readonly type: 'same'; readonly from: string }
  | { readonly type: 'scale'; readonly from: string; readonly to: Size | number; readonly fit: Fit }
  | { readonly type: 'enlarge'; readonly from: string; readonly upscaler: string }
  | {
      readonly type: 'draw';
      /** Without a size it is that of the picture to begin from. */
      readonly asked: AskedPicture;
      readonly from?: string | undefined;
      readonly mask?: MaskPlan | undefined;
      /** What of it cannot be done as it was asked for. */
      readonly notes: readonly string[];
    };

/** Where a picture is painted anew: a channel of a picture that was sent. */
export interface MaskPlan {
  readonly from: { readonly name: string } | { readonly picture: SentPicture };
  readonly channel: Channel;
  readonly inverted: boolean;
}

export interface Output {
  readonly id: string;
  readonly kind: 'output' | 'temp' | 'socket';
  readonly prefix: string;
  /** The node whose pictures these are. */
  readonly from: string;
  /** Every node that it needs, each behind those that it needs itself. */
  readonly order: readonly string[];
}

/** What a prompt comes to. */
export interface Plan {
  readonly steps: ReadonlyMap<string, Step>;
  readonly outputs: readonly Output[];
}
