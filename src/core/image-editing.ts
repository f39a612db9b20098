export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Cropped around the centre, stretched, or with a border. */
export type Fit = 'cover' | 'fill' | 'contain';

export type Channel = 'alpha' | 'red' | 'green' | 'blue';

export type OutputFormat = 'png' | 'jpeg' | 'webp';

/** One operation on encoded images, as JSON. All results are PNG except those of `encode`. */
export type ImageEdit =
  /** Upright, at exactly this size, on white. */
  | { readonly type: 'fit'; readonly size: Size; readonly fit: Fit }
  /** Upright, stretched to exactly this size, with its transparency. */
  | { readonly type: 'resize'; readonly size: Size }
  /** One channel, white where to paint; `all` makes it white everywhere. */
  | {
      readonly type: 'mask';
      readonly size: Size;
      readonly fit: Fit;
      readonly inverted: boolean;
      readonly all: boolean;
    }
  /** A mask from one channel. No result for the alpha channel of an image that is opaque. */
  | {
      readonly type: 'channel-mask';
      readonly channel: Channel;
      readonly size: Size;
      readonly fit: Fit;
      readonly inverted: boolean;
    }
  /** The first image with the transparency of the second. */
  | { readonly type: 'alpha-of-second' }
  /** The colours, also of transparent pixels. */
  | { readonly type: 'colours' }
  /** Black, and as transparent as the image. */
  | { readonly type: 'transparency' }
  | { readonly type: 'encode'; readonly format: OutputFormat; readonly quality: number };

export interface EditedImage {
  readonly bytes: Uint8Array;
  /** The request field, for the error message. */
  readonly field: string;
}

/** Decodes and encodes images outside of the server process. */
export interface ImageEditor {
  /** Undefined if the edit has no result. Throws `invalid-field` for an unreadable image. */
  edit(edit: ImageEdit, images: readonly EditedImage[], signal?: AbortSignal): Promise<Uint8Array | undefined>;
}

/** The most pixels of an image that is decoded: 8192 by 8192. */
export const maxPixels = 2 ** 26;
