//! Images, prepared for models and as thumbnails.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, RgbImage, RgbaImage};
use tallybook_documents::{EncodedImage, FileKind, ProcessedImage};
use tallybook_mock_files::{deflated, png};

use crate::support::{fixture, process, process_fixture};

fn encode(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn decode(image: &EncodedImage) -> RgbaImage {
    image::load_from_memory(&image.bytes).unwrap().into_rgba8()
}

fn low_byte(number: u32) -> u8 {
    number.to_le_bytes()[0]
}

async fn image_of(file: &[u8]) -> ProcessedImage {
    process(file, "x").await.unwrap().image.unwrap()
}

fn is_red(image: &RgbaImage, x: u32, y: u32) -> bool {
    let [red, green, ..] = image.get_pixel(x, y).0;
    red > 200 && green < 80
}

#[tokio::test]
async fn the_four_formats_are_images() {
    for (name, media_type) in [
        ("picture.png", "image/png"),
        ("picture.jpg", "image/jpeg"),
        ("picture.webp", "image/webp"),
        ("picture.gif", "image/gif"),
    ] {
        let file = process_fixture(name).await;
        assert_eq!(
            (file.kind, file.media_type.as_str(), file.has_text),
            (FileKind::Image, media_type, false),
            "{name}"
        );
        let image = file.image.unwrap();
        assert_eq!((image.width, image.height), (40, 20), "{name}");
        let model = decode(&image.model);
        assert!(is_red(&model, 5, 5) && !is_red(&model, 30, 5) && !is_red(&model, 5, 15), "{name}");
    }
}

#[tokio::test]
async fn exif_orientation_6_is_applied_and_metadata_is_dropped() {
    let image = process_fixture("rotated.jpg").await.image.unwrap();
    assert_eq!((image.width, image.height), (20, 40));
    for encoded in [&image.model, &image.thumb] {
        assert_eq!((encoded.width, encoded.height), (20, 40));
        let upright = decode(encoded);
        assert!(is_red(&upright, 15, 5) && !is_red(&upright, 5, 5) && !is_red(&upright, 15, 30));
        assert!(!encoded.bytes.windows(6).any(|window| window == b"secret" || window == b"Exif\0\0"));
    }
    assert!(fixture("rotated.jpg").windows(6).any(|window| window == b"secret"));
}

#[tokio::test]
async fn large_images_are_scaled_down_and_the_same_file_gives_the_same_bytes() {
    let photo = RgbImage::from_fn(3000, 1000, |x, y| image::Rgb([low_byte(x), low_byte(y), low_byte(x * y)]));
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP] {
        let file = encode(photo.clone(), format);
        let image = image_of(&file).await;
        assert_eq!((image.width, image.height), (3000, 1000));
        assert_eq!((image.model.width, image.model.height), (1568, 523));
        assert_eq!((image.thumb.width, image.thumb.height), (320, 107));
        assert!(image.model.bytes.len() <= 2 * 1024 * 1024);
        assert_eq!(decode(&image.model).dimensions(), (1568, 523));
        assert_eq!(image, image_of(&file).await);
    }
}

#[tokio::test]
async fn transparent_pixels_stay_transparent_or_become_white() {
    let mut noise = 1_u32;
    let large = RgbaImage::from_fn(1568, 1568, |_, _| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [red, green, blue, alpha] = noise.to_be_bytes();
        image::Rgba([red, green, blue, if alpha > 127 { 255 } else { 0 }])
    });
    let mut clear = RgbaImage::new(1568, 1568);
    clear.put_pixel(0, 0, image::Rgba([9, 9, 9, 255]));
    let small = image_of(&encode(clear, ImageFormat::Png)).await.model;
    assert_eq!((small.media_type, decode(&small).get_pixel(700, 700).0[3]), ("image/png", 0));
    let mut large = large;
    image::imageops::replace(&mut large, &RgbaImage::new(100, 100), 700, 700);
    let large = image_of(&encode(large, ImageFormat::Png)).await.model;
    assert_eq!((large.media_type, decode(&large).get_pixel(750, 750).0), ("image/jpeg", [255; 4]));
}

#[tokio::test]
async fn an_image_of_fifty_million_pixels_is_decoded_within_the_childs_memory() {
    // Rows of 4 × 7000 bytes and their filter.
    let data = deflated(0, (7000 * 28_001_usize).div_ceil(1024 * 1024));
    let image = image_of(&png(7000, 7000, 8, 6, &data)).await;
    assert_eq!((image.width, image.model.width, image.thumb.width), (7000, 1568, 320));
}

#[tokio::test]
async fn sixteen_bit_gray_and_narrow_images_are_converted() {
    let gray =
        image::ImageBuffer::<image::Luma<u16>, _>::from_fn(30, 10, |x, _| image::Luma([u16::from(low_byte(x)) * 2000]));
    let model = image_of(&encode(gray, ImageFormat::Png)).await.model;
    assert_eq!(model.media_type, "image/png");
    let narrow = image_of(&encode(RgbImage::new(5000, 1), ImageFormat::Png)).await;
    assert_eq!((narrow.model.width, narrow.model.height, narrow.thumb.height), (1568, 1, 1));
}
