//! Decodes images, turns them upright, and encodes them for models and as thumbnails.

use std::io::Cursor;

use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageError, ImageFormat, Limits,
    codecs::{
        gif::GifDecoder,
        jpeg::{JpegDecoder, JpegEncoder},
        png::{CompressionType, FilterType, PngDecoder, PngEncoder},
        webp::WebPDecoder,
    },
    imageops::{self, FilterType as Resampling},
    metadata::Orientation,
};

use crate::{
    EncodedImage, ProcessedImage, Refusal,
    limits::{MAX_DECODED_BYTES, MAX_MODEL_PNG_BYTES, MAX_PIXELS, MAX_THUMB_PNG_BYTES, MODEL_SIDE, THUMB_SIDE},
};

/// Quality of JPEG encoding, of 100.
const JPEG_QUALITY: u8 = 88;

/// Decodes the image, or the first one of an animation.
pub(crate) fn prepare(file: &[u8], format: ImageFormat) -> Result<ProcessedImage, Refusal> {
    let input = Cursor::new(file);
    match format {
        ImageFormat::Png => resize(PngDecoder::new(input), format),
        ImageFormat::Jpeg if !has_end_of_jpeg(file) => Err(cut_off()),
        ImageFormat::Jpeg => resize(JpegDecoder::new(input), format),
        ImageFormat::Gif => resize(GifDecoder::new(input), format),
        ImageFormat::WebP => resize(WebPDecoder::new(input), format),
        _ => Err(Refusal::unsupported("an image of an unknown format")),
    }
}

fn resize(decoder: Result<impl ImageDecoder, ImageError>, format: ImageFormat) -> Result<ProcessedImage, Refusal> {
    let mut decoder = decoder.map_err(|error| damaged(&error))?;
    // The dimensions are in the header: an image that is too large is never decoded.
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err(Refusal::unreadable("the image has no pixels"));
    }
    if pixels > MAX_PIXELS {
        let million = MAX_PIXELS / 1_000_000;
        return Err(Refusal::unreadable(format!(
            "the image has too many pixels: {width} × {height}; at most {million} million can be read"
        )));
    }
    if decoder.total_bytes() > MAX_DECODED_BYTES {
        return Err(Refusal::unreadable("the image is too large; save it with 8 bits per channel or fewer pixels"));
    }
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    decoder.set_limits(limits).map_err(|error| damaged(&error))?;
    // Damaged metadata does not make the image unreadable.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let image = DynamicImage::from_decoder(decoder).map_err(|error| damaged(&error))?;
    let mut model = flatten_depth(shrink(image, MODEL_SIDE));
    model.apply_orientation(orientation);
    let thumb = shrink(model.clone(), THUMB_SIDE);
    let is_photo = format == ImageFormat::Jpeg;
    let (width, height) = if swaps_sides(orientation) { (height, width) } else { (width, height) };
    Ok(ProcessedImage {
        width,
        height,
        model: encode(model, is_photo, MAX_MODEL_PNG_BYTES)?,
        thumb: encode(thumb, is_photo, MAX_THUMB_PNG_BYTES)?,
    })
}

/// Scales the image down so that it fits a square. Very large images are first averaged to twice that size, since
/// resampling them would take several times the memory of the image.
fn shrink(image: DynamicImage, side: u32) -> DynamicImage {
    let longest = image.width().max(image.height());
    if longest <= side {
        return image;
    }
    let image = if longest / 2 > side { image.thumbnail(side * 2, side * 2) } else { image };
    // `resize` never makes a side shorter than one pixel.
    image.resize(side, side, Resampling::CatmullRom)
}

/// Makes it 8 bits per channel, gray or color.
fn flatten_depth(image: DynamicImage) -> DynamicImage {
    match image {
        image @ (DynamicImage::ImageLuma8(_)
        | DynamicImage::ImageLumaA8(_)
        | DynamicImage::ImageRgb8(_)
        | DynamicImage::ImageRgba8(_)) => image,
        image if image.color().has_alpha() => DynamicImage::ImageRgba8(image.into_rgba8()),
        image => DynamicImage::ImageRgb8(image.into_rgb8()),
    }
}

fn swaps_sides(orientation: Orientation) -> bool {
    matches!(
        orientation,
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH
    )
}

/// Encodes photos as JPEG, other images as PNG if that is small enough. Transparent pixels of a JPEG become white.
fn encode(image: DynamicImage, is_photo: bool, max_png_bytes: usize) -> Result<EncodedImage, Refusal> {
    let (width, height) = (image.width(), image.height());
    let mut bytes = Vec::new();
    if !is_photo {
        let encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, FilterType::Adaptive);
        write(encoder, &image)?;
    }
    if !is_photo && bytes.len() <= max_png_bytes {
        return Ok(EncodedImage { media_type: "image/png", bytes, width, height });
    }
    let opaque = if image.color().has_alpha() {
        let mut opaque = image::RgbaImage::from_pixel(width, height, image::Rgba([255; 4]));
        imageops::overlay(&mut opaque, &image.into_rgba8(), 0, 0);
        DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(opaque).into_rgb8())
    } else {
        image
    };
    bytes.clear();
    write(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY), &opaque)?;
    Ok(EncodedImage { media_type: "image/jpeg", bytes, width, height })
}

fn write(encoder: impl image::ImageEncoder, image: &DynamicImage) -> Result<(), Refusal> {
    let color = ExtendedColorType::from(image.color());
    let written = encoder.write_image(image.as_bytes(), image.width(), image.height(), color);
    written.map_err(|_| Refusal::unreadable("the image cannot be encoded"))
}

/// Whether the end marker follows the image data. The decoder fills missing data with gray instead of failing.
///
/// Segments before the data are skipped, since they can contain a thumbnail with an end marker of its own.
fn has_end_of_jpeg(file: &[u8]) -> bool {
    const START_OF_SCAN: u8 = 0xda;
    let mut rest = file.get(2..).unwrap_or_default();
    while let [0xff, marker, ..] = *rest {
        let segment = match (marker, rest) {
            (0xff, _) => 1,
            (START_OF_SCAN, _) => return rest.windows(2).any(|pair| pair == [0xff, 0xd9]),
            (_, [_, _, high, low, ..]) => 2 + usize::from(u16::from_be_bytes([*high, *low])),
            _ => return false,
        };
        rest = rest.get(segment..).unwrap_or_default();
    }
    false
}

fn damaged(error: &ImageError) -> Refusal {
    match error {
        ImageError::Limits(_) => Refusal::unreadable("the image is too complex: decoding it takes too much memory"),
        ImageError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => cut_off(),
        ImageError::Unsupported(_) => {
            Refusal::unreadable("the image has a variant of its format that is not supported")
        }
        _ => Refusal::unreadable("the image is damaged"),
    }
}

fn cut_off() -> Refusal {
    Refusal::unreadable("the image is cut off: its end is missing")
}
